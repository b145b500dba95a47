import { mkdirSync, statSync } from 'node:fs';
import { connect, createServer } from 'node:net';

/** The directory is another process's; `told` is what that one says of itself. */
export class ClaimedError extends Error {
  constructor(directory, told) {
    super(`${directory} is in use ${told}`);
    this.told = told;
  }
}

/**
 * Makes a directory if it is absent and takes it for this process, until the function that it gives is called or the
 * process ends in whatever way: the claim is a socket name in the kernel, so a kill leaves none behind.
 * Throws ClaimedError when another process has it. Whoever finds it claimed is told what `tell` gives at that moment.
 */
export async function claim(directory, tell) {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { dev, ino } = statSync(directory);
  const name = `\0orrery-claim-${dev}-${ino}`;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(tell());
  });
  const taken = await new Promise((resolve, reject) => {
    server.once('listening', () => resolve(false));
    server.once('error', (error) => (error.code === 'EADDRINUSE' ? resolve(true) : reject(error)));
    server.listen(name);
  });
  if (taken) throw new ClaimedError(directory, await ask(name));
  server.unref();
  return () => new Promise((resolve) => server.close(resolve));
}

/** What the holder of a claim says; a holder that is stopped or just ending says nothing. */
function ask(name) {
  return new Promise((resolve) => {
    let told = '';
    const finish = () => {
      socket.destroy();
      resolve(told || 'by a command that does not answer');
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
