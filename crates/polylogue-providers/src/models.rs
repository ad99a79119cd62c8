//! All the models there are here, behind one port: a request goes to the provider that its model names.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use polylogue_runtime::port::{Call, CallError, Model, Reply};

/// Providers by name.
#[derive(Clone, Default)]
pub struct Models {
    providers: BTreeMap<Arc<str>, Arc<dyn Model>>,
}

impl std::fmt::Debug for Models {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

impl Models {
    #[must_use]
    pub fn with(mut self, provider: &str, model: Arc<dyn Model>) -> Models {
        self.providers.insert(provider.into(), model);
        self
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(|name| &**name)
    }
}

#[async_trait]
impl Model for Models {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        let provider = &call.ask.request.model.provider;
        match self.providers.get(provider) {
            Some(model) => model.answer(call).await,
            None => {
                let known: Vec<&str> = self.names().collect();
                let known = known.join(", ");
                Err(CallError::Unavailable(format!("there is no provider `{provider}` here, only {known}")))
            }
        }
    }
}
