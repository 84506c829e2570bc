//! User objects of questions about captures: their destructors ask nothing, for that might invalidate a capture.

use crate::driver::{Answer, Cu};
use crate::user_object::UserObject;
use cushim::driver::sys::CUgraph;

/// An object with one reference, or none where the driver has none.
pub(super) fn object(cu: &Cu) -> UserObject {
    UserObject::create(cu, 1, None).0
}

/// Lets a graph keep it.
pub(super) fn keep(graph: CUgraph, object: &UserObject, flags: u32) -> Answer {
    match graph.is_null() || object.handle.is_null() {
        true => "nothing to retain".into(),
        false => object.retain(graph, 1, flags),
    }
}
