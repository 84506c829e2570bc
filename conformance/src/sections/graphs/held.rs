//! User objects of questions about graphs: what the destructor asks about is the scene's stream.

use super::scene::Scene;
use crate::driver::Given;
use crate::user_object::MOVE;
use cushim::driver::sys::CUgraph;

pub(super) use crate::user_object::UserObject as Object;

impl Object {
    /// One with so many references, all of them the caller's.
    pub(super) fn new(s: &Scene, references: u32) -> Given<Self> {
        let (object, made) = Self::create(&s.cu, references, Some(s.stream));
        made.given("cuUserObjectCreate_11030")?;
        Ok(object)
    }

    /// One with a reference that is this graph's.
    pub(super) fn held(s: &Scene, graph: CUgraph) -> Given<Self> {
        let object = Self::new(s, 1)?;
        object.retain(graph, 1, MOVE).given("cuGraphRetainUserObject_11030")?;
        Ok(object)
    }
}
