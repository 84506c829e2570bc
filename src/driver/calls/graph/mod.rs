//! Graphs: definitions, their nodes and edges, what they keep alive, and what is instantiated from them.

pub(crate) mod capture;
pub(crate) mod definition;
pub(crate) mod exec;
pub(crate) mod memory;
pub(crate) mod node;
pub(crate) mod query;
pub(crate) mod user_object;

/// Asks twice: how many there are, and which. Others may change a graph between the two, so what came is cut to what the
/// driver says the second time.
fn listed<T: Copy>(
    empty: T,
    mut ask: impl FnMut(*mut T, &mut usize) -> Result<(), crate::driver::CallError>,
) -> Result<Vec<T>, crate::driver::CallError> {
    let mut count = 0;
    ask(std::ptr::null_mut(), &mut count)?;
    let mut all = vec![empty; count];
    if count > 0 {
        ask(all.as_mut_ptr(), &mut count)?;
        all.truncate(count);
    }
    Ok(all)
}
