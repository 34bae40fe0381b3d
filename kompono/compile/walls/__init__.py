"""Functions of parts that run elsewhere on this computer: in a process of their own, or as WebAssembly.

    places.py   which functions of a program run elsewhere, and where; what stands for them in the code of an owner
    channel.py  the words two processes exchange, as both sides see them
    ask.py      the two sides of that exchange as native code
    station.py  a worker process: started, given code, asked what became of it, ended
    worker.py   the program of that process
    filters.py  what the kernel lets a worker do (Linux)
    module.py   WebAssembly from LLVM's object to a module, and what such a module may want
    room.py     a module in wasmtime, called by native code

To the code of an owner such a function is what any closed function is: `void f(const double *in, double *out)`.
"""
