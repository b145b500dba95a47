// Loaded into a built server before it starts. The test names a step over IPC, and the server ends itself there with SIGKILL.
// A step is a transaction of the store, a desired state sent to an agent, a change sent to twind, or the note of twind's pid.
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { AgentConnection } from '../../dist/modules/nodes/agent-connection.js';
import { TwindClient } from '../../dist/modules/twin/twind-client.js';
import { Store } from '../../dist/platform/redis.js';

const HAND_OVERS = new Set(['desired', 'switch-desired', 'applications']);

let point = null;
let steps = 0;
process.on('message', (message) => {
  point = message;
  steps = 0;
  process.send('armed');
});

/** Ends the server before the step, or returns what to call after it. A step that outlasts its point ends nothing. */
function beginStep() {
  const here = point;
  if (here === null || ++steps !== here.step) return () => undefined;
  if (here.when === 'before') die();
  return () => here === point && die();
}

function die() {
  process.kill(process.pid, 'SIGKILL');
}

function asStep(owner, name, isStep) {
  const original = owner[name];
  owner[name] = async function (...args) {
    if (!isStep(...args)) return original.apply(this, args);
    const endStep = beginStep();
    const result = await original.apply(this, args);
    endStep();
    return result;
  };
}

asStep(Store.prototype, 'transact', () => true);
asStep(TwindClient.prototype, 'json', (method) => method !== 'GET');
asStep(fs, 'writeFile', (path) => String(path).endsWith('/twin.pid'));
syncBuiltinESMExports();

const { send } = AgentConnection.prototype;
AgentConnection.prototype.send = function (message) {
  const endStep = HAND_OVERS.has(message.type) ? beginStep() : () => undefined;
  send.call(this, message);
  endStep();
};
