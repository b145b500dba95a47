import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from './setup/paths.mjs';
import { wallClockUses } from './wall-clock-uses.mjs';

// The wall clock may be set back or forward at any time: deadlines, intervals and ages use `performance.now()`.

const SOURCES = [':(glob)backend/server/src/**/*.ts', ':(glob)agents/node/src/**/*.ts'];
const EXCEPT = [':(exclude,glob)**/*.test.ts', ':(exclude,glob)**/testing/**'];

const SERVER = 'backend/server/src';
const AGENT = 'agents/node/src';

/** Files in which a time since or until something is computed from the wall clock, because it is stored or shown. */
const STORED = {
  [`${SERVER}/modules/deployments/endings.ts`]: 'an event tells how long a stored operation took',
  [`${SERVER}/modules/deployments/flow-migrations.ts`]:
    'how long a stored move took, which another server may have begun',
  [`${SERVER}/modules/calibration/calibration.service.ts`]: 'a query for stored samples',
  [`${SERVER}/modules/lending/ledger.ts`]: 'a stored turn is told by the clock of now',
  [`${SERVER}/modules/leases/lease-book.service.ts`]: 'leases are stored with their end',
  [`${SERVER}/modules/nodes/agent-registry.ts`]: 'the end of a join token is shown',
  [`${SERVER}/modules/nodes/agent-events.ts`]: 'an event is told with the time of another machine',
  [`${SERVER}/modules/nodes/desired-chains.ts`]: 'what was to run on a server at the time of an event',
  [`${SERVER}/modules/reconfiguration/conduct/change-maker.ts`]: 'which stored operations this server began',
  [`${SERVER}/modules/reconfiguration/policies/policy-watcher.ts`]: 'cool-down since a stored reconfiguration',
  [`${SERVER}/modules/scaling/scaling-loop.ts`]: 'cool-down since a stored scaling',
  [`${SERVER}/modules/scenarios/e2-split/run.ts`]: 'the time axis of a chart',
  [`${SERVER}/modules/scenarios/e2-load-wave/e2-load-wave.ts`]: 'the time axis of a chart',
  [`${SERVER}/modules/scenarios/hyper-chaining/hyper-chaining.ts`]: 'a query for stored samples',
  [`${SERVER}/modules/scenarios/series.ts`]: 'the time axis of a chart',
  [`${SERVER}/modules/scenarios/swap/swap.ts`]: 'a query for stored samples and events',
  [`${SERVER}/modules/sessions/sessions.service.ts`]: 'sessions expire over restarts',
  [`${SERVER}/modules/slos/alerts/causes.ts`]: 'stored events are compared with a violation in a stored history',
  [`${SERVER}/modules/slos/ledger/history-view.ts`]: 'a query for a stored history',
  [`${SERVER}/modules/system/presence.ts`]: 'how long no server ran',
  [`${SERVER}/modules/nf-descriptors/learner.ts`]: 'a query for stored samples',
  [`${SERVER}/modules/upkeep/loads.ts`]: 'a query for stored samples',
  [`${SERVER}/modules/samples/samples.service.ts`]: 'whether the clock of an agent is right',
  [`${SERVER}/modules/service-requests/requests.ts`]: 'requests are dismissed that were over when they were seen',
  [`${SERVER}/modules/upkeep/records.ts`]: 'an advice is dismissed over restarts',
  [`${SERVER}/platform/control-loop/control-loop.ts`]: 'when a loop runs next, for display',
  [`${AGENT}/drivers/application/application-driver.ts`]: 'the rest of a run that outlives the agent',
  [`${AGENT}/drivers/board/modules/elephant-detector.ts`]: 'when a flow was last seen, for display',
  [`${AGENT}/drivers/board/modules/stateful-firewall.ts`]: 'when a flow was last seen, for display',
};

const uses = wallClockUses(sources());

function sources() {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', '--', ...SOURCES, ...EXCEPT];
  const { stdout, status, stderr } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]),
  );
}

test('deadlines, intervals and ages use the monotonic clock', () => {
  const wrong = uses
    .filter(({ file, isPassed }) => isPassed || !(file in STORED))
    .map(({ file, line }) => `${file}: ${line}`);
  assert.deepEqual(wrong, [], 'use performance.now(), or list the file here with the reason');
});

test('every exception is needed', () => {
  const found = new Set(uses.filter(({ isPassed }) => !isPassed).map(({ file }) => file));
  assert.deepEqual(
    Object.keys(STORED).filter((file) => !found.has(file)),
    [],
  );
});

const found = (...texts) => wallClockUses(Object.fromEntries(texts.entries())).map(({ line }) => line);

test('a use of the wall clock is found, by whatever name', () => {
  for (const [text, line] of [
    ['const deadline = Date.now() + 5;'],
    ['if (Date.now() > deadline) stop();'],
    ['const now = Date.now();\nreturn now - heardMs > 5;', 'return now - heardMs > 5;'],
    ['let last;\nlast = Date.now();\nif (last <= x) stop();', 'if (last <= x) stop();'],
    [
      'class A {\nsinceMs = Date.now();\nage(nowMs) {\nreturn nowMs - this.sinceMs; } }',
      'return nowMs - this.sinceMs; } }',
    ],
    ['state.seenMs = Date.now();\nconst age = nowMs - state.seenMs;', 'const age = nowMs - state.seenMs;'],
    ['const elapsed = samples.t_ms - before.t_ms;'],
    ['function f(nowMs = Date.now()) {\nreturn nowMs < endMs;\n}', 'return nowMs < endMs;'],
    ['const now = clock.nowMs();\nawait wait(untilMs - now);', 'await wait(untilMs - now);'],
  ])
    assert.deepEqual(found(text), [line ?? text]);
});

test('a wall-clock time that is passed on is found where it is used', () => {
  const user =
    'class Loads {\nof(nf, nowMs) {\nreturn this.fresh(nf, nowMs); }\nfresh(nf, sinceMs) {\nreturn x > sinceMs; } }';
  assert.deepEqual(found(user, 'loads.of(nf, Date.now());'), ['return x > sinceMs; } }']);
  assert.deepEqual(found(user, 'loads.of(nf, performance.now());'), []);
  assert.deepEqual(found(user, 'sets.of(nf, Date.now(), 3);'), [], 'a function with other parameters');
});

test('the wall clock itself is found where it is passed on', () => {
  for (const text of [
    'const limiter = new Limiter(Date.now);',
    'const limiter = makeLimiter(5, Date.now);',
    'const limiter = new Limiter(() => Date.now());',
    'const now = Date.now;',
    'const options = { now: Date.now };',
    'const { wait, now = Date.now } = options;',
  ])
    assert.deepEqual(wallClockUses({ a: text }), [{ file: 'a', line: text, isPassed: true }]);
  for (const text of ['const limiter = new Limiter(performance.now);', 'all.map((each) => each.now());'])
    assert.deepEqual(wallClockUses({ a: text }), [], text);
});

test('a time that is only stored or shown is no use', () => {
  for (const text of [
    'send({ t_ms: Date.now() });',
    'const now = Date.now();\nsave({ created_ms: now });',
    'const nowMs = () => Date.now();',
    'this.generation = Math.max(Date.now(), this.generation + 1);',
    'function a() {\nconst now = Date.now();\nsave(now); }\nfunction b() {\nconst now = performance.now();\nreturn now - x; }',
  ])
    assert.deepEqual(found(text), [], text);
});
