"""Large models: each type of component is traced once, its instances are rows of tables."""
