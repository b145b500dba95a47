// Thread for tests of the worker kit, in the protocol of serve-jobs.ts.
import { parentPort } from 'node:worker_threads';

parentPort.on('message', ({ kind, value }) => {
  if (kind === 'echo') parentPort.postMessage({ result: value });
  if (kind === 'fail') parentPort.postMessage({ failure: value });
  if (kind === 'exit') process.exit(3);
  if (kind === 'throw') throw new Error(value);
  if (kind === 'spin') for (;;);
});
