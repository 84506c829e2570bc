//! A graph for the time of a call, for which nothing is counted where its handle holds it.

use super::Graph;
use super::definition::GraphObject;
use crate::object::error::Error;
use crate::object::handle::Ref;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;

/// A graph that a handle names, while what the look-up lent is there.
pub(crate) struct Lent<'g> {
    graph: ManuallyDrop<Graph>,
    /// Whether it holds the definition; otherwise an owning handle does that cannot let go meanwhile.
    holds: bool,
    lender: PhantomData<&'g GraphObject>,
}

impl Graph {
    /// The graph that a handle names, for the time of a call.
    #[inline]
    pub(crate) fn lent<'g>(object: &'g Ref<'_, Arc<GraphObject>>) -> Result<Lent<'g>, Error> {
        Lent::of(object)
    }
}

impl<'g> Lent<'g> {
    #[inline]
    pub(super) fn of(object: &'g Ref<'_, Arc<GraphObject>>) -> Result<Self, Error> {
        // A handle that was made when nobody held the definition any more holds nothing.
        if object.is_lent() && object.definition.strong_count() > 0 && !object.is_gone() {
            // SAFETY: what is lent belongs to an owning handle in force, which is not let go of before the guard of the look-up ends. It has
            // held the definition since it was made, or nobody would. These counts are never given back.
            let graph = unsafe {
                let definition = Arc::from_raw(object.definition.as_ptr());
                Graph { definition, object: Arc::from_raw(Arc::as_ptr(object)) }
            };
            return Ok(Self { graph: ManuallyDrop::new(graph), holds: false, lender: PhantomData });
        }
        Self::held(object)
    }

    #[cold]
    fn held(object: &Arc<GraphObject>) -> Result<Self, Error> {
        let graph = ManuallyDrop::new(Graph::of(object)?);
        Ok(Self { graph, holds: true, lender: PhantomData })
    }
}

impl Deref for Lent<'_> {
    type Target = Graph;

    #[inline]
    fn deref(&self) -> &Graph {
        &self.graph
    }
}

impl Drop for Lent<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.holds {
            // SAFETY: it is dropped here alone.
            unsafe { ManuallyDrop::drop(&mut self.graph) };
        }
    }
}
