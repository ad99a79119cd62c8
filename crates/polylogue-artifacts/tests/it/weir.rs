//! Stands in front of the bucket's server, and can hold back or cut what comes through.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// What the weir does with a connection that comes.
#[derive(Clone, Copy)]
pub(crate) enum Flow {
    Free,
    /// It is accepted, and nothing is ever answered.
    Held,
    /// It is cut after so many bytes of the server.
    CutAfter(usize),
}

/// Stands between a client and the server.
pub(crate) struct Weir {
    at: SocketAddr,
    /// What becomes of a connection, and of how many; the others are let through.
    flow: Arc<Mutex<(Flow, usize)>>,
}

impl Weir {
    pub(crate) fn before(server: SocketAddr) -> Weir {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (at, flow) = (listener.local_addr().unwrap(), Arc::new(Mutex::new((Flow::Free, 0))));
        let chosen = flow.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let flow = next(&mut chosen.lock().unwrap());
                thread::spawn(move || pass(client, server, flow));
            }
        });
        Weir { at, flow }
    }

    pub(crate) fn at(&self) -> SocketAddr {
        self.at
    }

    /// What becomes of the connections from now on.
    pub(crate) fn set(&self, flow: Flow) {
        self.set_for(usize::MAX, flow);
    }

    /// What becomes of so many connections.
    pub(crate) fn set_for(&self, connections: usize, flow: Flow) {
        *self.flow.lock().unwrap() = (flow, connections);
    }
}

fn next((flow, connections): &mut (Flow, usize)) -> Flow {
    match connections.checked_sub(1) {
        Some(left) => {
            *connections = left;
            *flow
        }
        None => Flow::Free,
    }
}

fn pass(client: TcpStream, server: SocketAddr, flow: Flow) -> io::Result<()> {
    if let Flow::Held = flow {
        // Until the client gives up.
        return io::copy(&mut &client, &mut io::sink()).map(|_| ());
    }
    let server = TcpStream::connect(server)?;
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let mut left = if let Flow::CutAfter(bytes) = flow { bytes } else { usize::MAX };
    let mut chunk = [0; 16 * 1024];
    while left > 0 {
        let read = (&server).read(&mut chunk)?;
        if read == 0 {
            break;
        }
        let passed = read.min(left);
        (&client).write_all(&chunk[..passed])?;
        left -= passed;
    }
    let _ = server.shutdown(Shutdown::Both);
    client.shutdown(Shutdown::Both)
}
