import { existsSync, mkdirSync, statSync } from 'node:fs';
import { connect, createServer } from 'node:net';

/** Another process holds the directory; `told` is what that process says about itself. */
export class ClaimedError extends Error {
  constructor(directory, told) {
    super(`${directory} is in use ${told}`);
    this.told = told;
  }
}

/**
 * Creates a directory if it is absent and claims it for this process, until the returned function is called or the
 * process ends, however it ends: the claim is a socket name in the kernel, so nothing is left behind by a kill. Throws
 * ClaimedError if another process holds it. Whoever finds it claimed gets the current value of `tell`.
 */
export async function claim(directory, tell) {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const name = nameOf(directory);
  const asking = new Set();
  const server = createServer((socket) => {
    asking.add(socket);
    socket.on('close', () => asking.delete(socket));
    socket.on('error', () => undefined);
    socket.end(tell());
  });
  const taken = await new Promise((resolve, reject) => {
    server.once('listening', () => resolve(false));
    server.once('error', (error) => (error.code === 'EADDRINUSE' ? resolve(true) : reject(error)));
    server.listen(name);
  });
  if (taken) throw new ClaimedError(directory, (await ask(name)) || 'by a command that does not answer');
  server.unref();
  return () =>
    new Promise((resolve) => {
      server.close(resolve);
      // One that is stopped (Ctrl-Z) would never close its end.
      for (const socket of asking) socket.destroy();
    });
}

/** What the process that holds the directory says about itself; empty if none does. */
export async function holderOf(directory) {
  return existsSync(directory) ? ask(nameOf(directory)) : '';
}

function nameOf(directory) {
  const { dev, ino } = statSync(directory);
  return `\0orrery-claim-${dev}-${ino}`;
}

/** What the holder of a claim says; empty if there is none, or it is stopped or ending. */
function ask(name) {
  return new Promise((resolve) => {
    let told = '';
    const finish = () => {
      socket.destroy();
      resolve(told);
    };
    const socket = connect(name);
    socket.setTimeout(1000, finish);
    socket.on('data', (chunk) => {
      told += chunk;
    });
    socket.on('error', finish);
    socket.on('end', finish);
  });
}
