//! Who calls: what they may do, and whose sessions, rooms and stories they see. What is another's is not there.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, RawPathParams, Request, State, rejection::RawPathParamsRejection},
    http::{Method, StatusCode, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use polylogue_core::{
    Event, Setup, Tenant,
    id::{Seq, SessionId},
    room::RoomId,
};
use polylogue_runtime::port::ArtifactPath;

use crate::{
    app::App,
    door,
    error::{Code, Refusal},
    house,
    token::{LetIn, Scope},
};

/// Somebody who was let in.
#[derive(Clone, Debug)]
pub(crate) struct Caller(LetIn);

impl Caller {
    /// Whom the sessions belong to that they begin: nobody where that is the operator.
    pub(crate) fn tenant(&self) -> Option<&Tenant> {
        self.0.as_ref().map(|token| &token.tenant)
    }

    /// Whose sessions alone they see; without it, everybody's.
    pub(crate) fn sees_only(&self) -> Option<&Tenant> {
        self.0.as_ref().filter(|token| token.scope != Scope::Admin).map(|token| &token.tenant)
    }

    /// A name that they give, such as that of a story, as it is kept: theirs is not another's.
    pub(crate) fn own(&self, name: &str) -> String {
        self.sees_only().map_or_else(|| name.to_owned(), |tenant| tenant.own(name))
    }

    /// The room of that name.
    pub(crate) fn room(&self, name: &str) -> Result<RoomId, Refusal> {
        if self.sees_only().is_some() && Tenant::split(name).0.is_some() {
            return Err(Refusal::not_found("there is no such room"));
        }
        self.own(name).parse::<RoomId>().map_err(|error| Refusal::request(format!("{error}")))
    }

    /// A room's name as they know it; `None` for one that is not theirs.
    pub(crate) fn name_of(&self, room: &RoomId) -> Option<String> {
        match (self.sees_only(), Tenant::split(room.as_str())) {
            (None, _) => Some(room.to_string()),
            (Some(own), (Some(tenant), name)) => (*own == tenant).then(|| name.to_owned()),
            (Some(_), (None, _)) => None,
        }
    }

    fn sees(&self, setup: &Setup) -> bool {
        self.sees_only().is_none_or(|own| setup.tenant.as_ref() == Some(own))
    }

    /// That a session is there for them.
    pub(crate) async fn must_see(&self, app: &App, id: SessionId) -> Result<(), Refusal> {
        match self.sees_only() {
            None => Ok(()),
            Some(_) => self.setup_of(app, id).await.map(drop),
        }
    }

    /// What a session was set up with. Only its first record is read.
    pub(crate) async fn setup_of(&self, app: &App, id: SessionId) -> Result<Arc<Setup>, Refusal> {
        let none = || Refusal::not_found(format!("there is no session {id}"));
        let first = app.journal.read(id, Seq::START, 1).await?.pop().ok_or_else(none)?;
        match &first.event {
            Event::Started { setup, .. } if self.sees(setup) => Ok(setup.clone()),
            Event::Started { .. } => Err(none()),
            _ => Err(Refusal::internal("a journal begins with something else than its start")),
        }
    }

    /// That a file is there for them: one that was made in a session of theirs, or in one that a session of theirs was
    /// forked from.
    pub(crate) async fn must_hear(&self, app: &App, path: &ArtifactPath) -> Result<(), Refusal> {
        if self.sees_only().is_none() {
            return Ok(());
        }
        let none = || Refusal::not_found("there is no such file");
        let session: SessionId = path.as_str().split('/').find_map(|part| part.parse().ok()).ok_or_else(none)?;
        if self.must_see(app, session).await.is_ok() {
            return Ok(());
        }
        for fork in app.journal.forks(&[session]).await? {
            if self.must_see(app, fork).await.is_ok() {
                return Ok(());
            }
        }
        Err(none())
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Caller, Refusal> {
        let caller = parts.extensions.get::<Caller>().cloned();
        caller.ok_or_else(|| Refusal::internal("a handler asks who calls, and its route does not find out"))
    }
}

/// The setup of a new session of theirs.
pub(crate) async fn setup(app: &App, caller: &Caller, request: house::Request) -> Result<Setup, Refusal> {
    let mut setup = app.house.setup(request).await?;
    setup.tenant = caller.tenant().cloned();
    Ok(setup)
}

/// Lets pass who has a token, where tokens are set, as far as it goes. A session is always `{id}` in a route: so that it
/// is the caller's is found out here, for every route that there is and will be.
pub(crate) async fn admit(
    State(app): State<App>,
    params: Result<RawPathParams, RawPathParamsRejection>,
    mut request: Request,
    next: Next,
) -> Response {
    let caller = match door::who(&app, request.headers()) {
        Ok(caller) => Caller(caller),
        Err(refusal) => return refusal.into_response(),
    };
    let Ok(params) = params else { return Refusal::not_found("there is nothing at this address").into_response() };
    if let Err(refusal) = may_pass(&app, &caller, request.method(), &params).await {
        return refusal.into_response();
    }
    request.extensions_mut().insert(caller);
    next.run(request).await
}

async fn may_pass(app: &App, caller: &Caller, method: &Method, params: &RawPathParams) -> Result<(), Refusal> {
    let Some(token) = &caller.0 else { return Ok(()) };
    token.request().map_err(|wait| {
        Refusal::new(Code::RateLimited, "this token has asked as often as it may in a minute").after(wait)
    })?;
    if token.scope == Scope::Read && !matches!(*method, Method::GET | Method::HEAD) {
        return Err(forbidden("this token may only read"));
    }
    for (_, id) in params.iter().filter(|(name, _)| *name == "id") {
        // What is no id names no session: the handler says so.
        if let Ok(id) = id.parse() {
            caller.must_see(app, id).await?;
        }
    }
    Ok(())
}

/// Lets pass the operator, and who is as good.
pub(crate) async fn operators(caller: Caller, request: Request, next: Next) -> Response {
    match caller.sees_only() {
        None => next.run(request).await,
        Some(_) => forbidden("this is for the operator: the token needs `scope = \"admin\"`").into_response(),
    }
}

fn forbidden(message: &str) -> Refusal {
    Refusal::new(Code::Unauthorized, message).with_status(StatusCode::FORBIDDEN)
}
