// Thread for tests of the worker kit, in the protocol of serve-jobs.ts.
import { pbkdf2Sync } from 'node:crypto';
import { parentPort } from 'node:worker_threads';

parentPort.on('message', ({ kind, value, ended }) => {
  if (kind === 'echo') parentPort.postMessage({ result: value });
  if (kind === 'fail') parentPort.postMessage({ failure: value });
  if (kind === 'exit') process.exit(3);
  if (kind === 'throw') throw new Error(value);
  if (kind === 'spin') for (;;);
  if (kind === 'native') {
    // A thread ends only where it runs JavaScript.
    pbkdf2Sync('a', 'b', 4_000_000, 64, 'sha512');
    Atomics.store(new Int32Array(ended), 0, 1);
  }
});
