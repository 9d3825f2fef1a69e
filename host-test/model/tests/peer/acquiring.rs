//! Whole acquires, on the model's table.
