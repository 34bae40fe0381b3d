// The compiled rk4 loop of the Pinocchio peer: machine in as tables of doubles, steps out, nothing of Python inside.
//
// Built by pinocchio_peer.py with -O3 -march=native from the headers alone. Trees run through aba; loops (points that
// coincide) through constraintDynamics or lcaba, both proximal, because a plane loop closed by a point in space has a
// redundant condition. They are kept by Baumgarte's feedback or by a projection after each step, which takes the factors
// of the last stage as they are. Machines whose joints are geared to one another run through crba and nle, projected on
// the free joints. Springs become joint efforts by one sweep to the root. All joints have one freedom: q + h v is exact.

#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/algorithm/loop-constrained-aba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

using namespace pinocchio;
using Eigen::Vector3d;
using Eigen::VectorXd;
using Table = Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

// Only the joints in use: compiled in a fraction of the time of the default collection of 25, and no slower to run.
template<typename S, int O> struct Joints {
    using Scalar = S;
    static constexpr int Options = O;
    using JointModelComposite = JointModelCompositeTpl<S, O, ::Joints>;
    using JointModelMimic = JointModelMimicTpl<S, O, ::Joints>;
    using JointModelVariant = boost::variant<
        JointModelRevoluteTpl<S, O, 0>, JointModelRevoluteTpl<S, O, 1>, JointModelRevoluteTpl<S, O, 2>,
        JointModelPrismaticTpl<S, O, 0>, JointModelPrismaticTpl<S, O, 1>, JointModelPrismaticTpl<S, O, 2>,
        JointModelRevoluteUnalignedTpl<S, O>, JointModelPrismaticUnalignedTpl<S, O>,
        boost::recursive_wrapper<JointModelComposite>, boost::recursive_wrapper<JointModelMimic>>;
    using JointDataComposite = JointDataCompositeTpl<S, O, ::Joints>;
    using JointDataMimic = JointDataMimicTpl<S, O, ::Joints>;
    using JointDataVariant = boost::variant<
        JointDataRevoluteTpl<S, O, 0>, JointDataRevoluteTpl<S, O, 1>, JointDataRevoluteTpl<S, O, 2>,
        JointDataPrismaticTpl<S, O, 0>, JointDataPrismaticTpl<S, O, 1>, JointDataPrismaticTpl<S, O, 2>,
        JointDataRevoluteUnalignedTpl<S, O>, JointDataPrismaticUnalignedTpl<S, O>,
        boost::recursive_wrapper<JointDataComposite>, boost::recursive_wrapper<JointDataMimic>>;
};
using Tree = ModelTpl<double, 0, Joints>;
using TreeData = DataTpl<double, 0, Joints>;
using AnyJoint = JointModelTpl<double, 0, Joints>;

enum Way { tree, proximal, sweeps, geared, projected };

struct Spring { JointIndex first, second; Vector3d at_first, at_second; double k, c, rest; };
struct Law { int joint, sensor; double gain, cosine, stiffness, damping, amplitude, omega; };

struct Machine {
    Tree model;
    TreeData data;
    Way way = tree;
    std::vector<RigidConstraintModel> loops;
    std::vector<RigidConstraintData> loop_data;
    std::vector<Spring> springs;
    std::vector<Law> laws;
    Eigen::MatrixXd gears;  // all speeds from the free ones
    ProximalSettings settings{1e-9, 0., 1e-8, 5};
    VectorXd tau, reduced, shift, push;
    std::vector<Force> loads;
};

static AnyJoint joint_of(bool slides, const Vector3d &axis) {
    if (slides) {
        if (axis == Vector3d::UnitX()) return JointModelPX();
        if (axis == Vector3d::UnitY()) return JointModelPY();
        if (axis == Vector3d::UnitZ()) return JointModelPZ();
        return JointModelPrismaticUnaligned(axis);
    }
    if (axis == Vector3d::UnitX()) return JointModelRX();
    if (axis == Vector3d::UnitY()) return JointModelRY();
    if (axis == Vector3d::UnitZ()) return JointModelRZ();
    return JointModelRevoluteUnaligned(axis);
}

static void add_springs(Machine &m, const VectorXd &q, const VectorXd &v) {
    forwardKinematics(m.model, m.data, q, v);
    for (Force &load : m.loads) load.setZero();
    for (const Spring &s : m.springs) {
        const SE3 &first = m.data.oMi[s.first], &second = m.data.oMi[s.second];
        const Motion &v1 = m.data.v[s.first], &v2 = m.data.v[s.second];
        const Vector3d line = second.act(s.at_second) - first.act(s.at_first);
        const Vector3d rate = second.rotation() * (v2.linear() + v2.angular().cross(s.at_second))
                              - first.rotation() * (v1.linear() + v1.angular().cross(s.at_first));
        const double length = line.norm();
        const Vector3d pull = (s.k * (length - s.rest) + s.c * line.dot(rate) / length) / length * line;
        const Vector3d on_first = first.rotation().transpose() * pull;
        const Vector3d on_second = -(second.rotation().transpose() * pull);
        m.loads[s.first] += Force(on_first, s.at_first.cross(on_first));
        m.loads[s.second] += Force(on_second, s.at_second.cross(on_second));
    }
    for (JointIndex i = m.model.njoints - 1; i > 0; --i) {
        m.tau[m.model.idx_vs[i]] += m.data.joints[i].S().matrix().col(0).dot(m.loads[i].toVector());
        m.loads[m.model.parents[i]] += m.data.liMi[i].act(m.loads[i]);
    }
}

static void accelerate(Machine &m, double t, const VectorXd &q, const VectorXd &v, VectorXd &a) {
    m.tau.setZero();
    for (const Law &w : m.laws) {
        const double c = std::cos(w.omega * t), s = std::sin(w.omega * t);
        const double late = w.amplitude * (1 - c) / 2 - q[w.sensor], slow = w.amplitude * w.omega * s / 2 - v[w.sensor];
        m.tau[w.joint] += w.gain * (w.cosine * c + w.stiffness * late + w.damping * slow);
    }
    if (!m.springs.empty()) add_springs(m, q, v);
    if (m.way == tree) {
        a = aba(m.model, m.data, q, v, m.tau, Convention::LOCAL);
    } else if (m.way == proximal || m.way == projected) {
        a = constraintDynamics(m.model, m.data, q, v, m.tau, m.loops, m.loop_data, m.settings);
    } else if (m.way == sweeps) {
        a = lcaba(m.model, m.data, q, v, m.tau, m.loops, m.loop_data, m.settings);
        for (RigidConstraintData &loop : m.loop_data) {  // lcaba feeds these back but does not compute them for points
            loop.contact_placement_error.linear() = -loop.c1Mc2.translation();
            loop.contact_velocity_error.linear() =
                loop.contact1_velocity.linear() - loop.c1Mc2.rotation() * loop.contact2_velocity.linear();
        }
    } else {
        crba(m.model, m.data, q, Convention::LOCAL);
        m.data.M.triangularView<Eigen::StrictlyLower>() = m.data.M.transpose();
        nonLinearEffects(m.model, m.data, q, v);
        m.reduced.noalias() = m.gears.transpose() * (m.tau - m.data.nle);
        const Eigen::MatrixXd mass = m.gears.transpose() * m.data.M * m.gears;
        a.noalias() = m.gears * mass.llt().solve(m.reduced);
    }
}

// Least change of q and v in the metric of mass that closes the loops, to first order.
static void project(Machine &m, VectorXd &q, VectorXd &v) {
    forwardKinematics(m.model, m.data, q, v);
    const int rows = 3 * int(m.loops.size());
    m.shift.setZero(rows + m.model.nv), m.push.setZero(rows + m.model.nv);
    for (size_t i = 0; i < m.loops.size(); ++i) {
        const RigidConstraintModel &loop = m.loops[i];
        const SE3 first = m.data.oMi[loop.joint1_id] * loop.joint1_placement;
        const SE3 second = m.data.oMi[loop.joint2_id] * loop.joint2_placement;
        const Motion v1 = loop.joint1_placement.actInv(m.data.v[loop.joint1_id]);
        const Motion v2 = loop.joint2_placement.actInv(m.data.v[loop.joint2_id]);
        m.shift.segment<3>(3 * i) = first.rotation().transpose() * (second.translation() - first.translation());
        m.push.segment<3>(3 * i) = first.rotation().transpose() * (second.rotation() * v2.linear()) - v1.linear();
    }
    m.data.constraint_chol.solveInPlace(m.shift);
    m.data.constraint_chol.solveInPlace(m.push);
    q += m.shift.tail(m.model.nv), v += m.push.tail(m.model.nv);
}

extern "C" {

// links: parent, slides, axis 3, rotation 9 and position 3 of the joint in the parent, mass, centre 3, inertia 9
void *machine_make(int links, const double *link, const double *gravity, int loops, const double *loop, int springs,
                   const double *spring, int laws, const double *law, int free, const double *gears, int way,
                   const double *proximal_settings) {
    auto *m = new Machine;
    Table ends(loop, loops, 10), pulls(spring, springs, 11), controls(law, laws, 8);
    using Square = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
    for (int i = 0; i < links; ++i) {
        const double *row = link + 30 * i;
        const SE3 place(Eigen::Map<const Square>(row + 5), Eigen::Map<const Vector3d>(row + 14));
        const Eigen::Matrix3d about = Eigen::Map<const Square>(row + 21);
        const AnyJoint joint = joint_of(row[1] != 0, Eigen::Map<const Vector3d>(row + 2));
        const JointIndex made = m->model.addJoint(JointIndex(row[0] + 1), joint, place, "j" + std::to_string(i));
        m->model.appendBodyToJoint(made, Inertia(row[17], Eigen::Map<const Vector3d>(row + 18), about));
    }
    m->model.gravity.linear() = Eigen::Map<const Vector3d>(gravity);
    for (int i = 0; i < loops; ++i) {
        const SE3 first(Eigen::Matrix3d::Identity(), ends.row(i).segment<3>(2).transpose());
        const SE3 second(Eigen::Matrix3d::Identity(), ends.row(i).segment<3>(5).transpose());
        m->loops.emplace_back(CONTACT_3D, m->model, JointIndex(ends(i, 0) + 1), first, JointIndex(ends(i, 1) + 1),
                              second, LOCAL);
        m->loops.back().m_baumgarte_parameters.Kp = ends(i, 8);
        m->loops.back().m_baumgarte_parameters.Kd = ends(i, 9);
    }
    for (int i = 0; i < springs; ++i)
        m->springs.push_back({JointIndex(pulls(i, 0) + 1), JointIndex(pulls(i, 1) + 1),
                              pulls.row(i).segment<3>(2).transpose(), pulls.row(i).segment<3>(5).transpose(),
                              pulls(i, 8), pulls(i, 9), pulls(i, 10)});
    for (int i = 0; i < laws; ++i)
        m->laws.push_back({int(controls(i, 0)), int(controls(i, 1)), controls(i, 2), controls(i, 3), controls(i, 4),
                           controls(i, 5), controls(i, 6), controls(i, 7)});
    m->gears = Table(gears, free ? links : 0, free);
    m->way = Way(way);
    m->settings = ProximalSettings(proximal_settings[0], 0., proximal_settings[1], int(proximal_settings[2]));
    m->data = TreeData(m->model);
    for (const auto &one : m->loops) m->loop_data.emplace_back(one);
    if (m->way == proximal || m->way == projected) initConstraintDynamics(m->model, m->data, m->loops, m->loop_data);
    if (m->way == sweeps) computeJointMinimalOrdering(m->model, m->data, m->loops);
    m->tau.setZero(m->model.nv);
    m->loads.assign(m->model.njoints, Force::Zero());
    return m;
}

void machine_free(void *machine) { delete static_cast<Machine *>(machine); }

void machine_accelerations(void *machine, double t, const double *q, const double *v, double *a) {
    auto &m = *static_cast<Machine *>(machine);
    const int n = m.model.nv;
    VectorXd out(n);
    accelerate(m, t, Eigen::Map<const VectorXd>(q, n), Eigen::Map<const VectorXd>(v, n), out);
    Eigen::Map<VectorXd>(a, n) = out;
}

// Classical rk4 from (t, q, v), in place.
void machine_steps(void *machine, double t, double h, int steps, double *position, double *speed) {
    auto &m = *static_cast<Machine *>(machine);
    const int n = m.model.nv;
    VectorXd q = Eigen::Map<VectorXd>(position, n), v = Eigen::Map<VectorXd>(speed, n);
    VectorXd a1(n), a2(n), a3(n), a4(n), v2(n), v3(n), v4(n), x(n);
    for (int k = 0; k < steps; ++k, t += h) {
        accelerate(m, t, q, v, a1);
        x = q + h / 2 * v, v2 = v + h / 2 * a1;
        accelerate(m, t + h / 2, x, v2, a2);
        x = q + h / 2 * v2, v3 = v + h / 2 * a2;
        accelerate(m, t + h / 2, x, v3, a3);
        x = q + h * v3, v4 = v + h * a3;
        accelerate(m, t + h, x, v4, a4);
        q += h / 6 * (v + 2 * v2 + 2 * v3 + v4);
        v += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
        if (m.way == projected) project(m, q, v);
    }
    Eigen::Map<VectorXd>(position, n) = q, Eigen::Map<VectorXd>(speed, n) = v;
}
}
