import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TaskGraph, withNeeds } from './task-graph.mjs';

/** Tasks that record when they start and end, and end when told. */
function bench(tasks) {
  const log = [];
  const release = {};
  const made = tasks.map(({ name, fails, ...rest }) => ({
    name,
    ...rest,
    run: () => {
      log.push(`+${name}`);
      return new Promise((resolve, reject) => {
        release[name] = () => {
          log.push(`-${name}`);
          if (fails) reject(new Error(`${name} failed`));
          else resolve(name.toUpperCase());
        };
      });
    },
  }));
  const graph = new TaskGraph(made).start();
  const end = async (name) => {
    release[name]();
    await new Promise(setImmediate);
  };
  return { graph, log, end };
}

test('a task starts when all its dependencies have ended, and not before', async () => {
  const { graph, log, end } = bench([{ name: 'c', needs: ['a', 'b'] }, { name: 'a' }, { name: 'b' }]);
  assert.deepEqual(log, ['+a', '+b']);
  await end('a');
  assert.deepEqual(log, ['+a', '+b', '-a']);
  await end('b');
  assert.equal(log.at(-1), '+c');
  await end('c');
  assert.equal(await graph.result('c'), 'C');
});

test('one task per lane runs at a time, in the order of the list; other lanes continue', async () => {
  const lane = 'timed';
  const { log, end } = bench([{ name: 'a', lane }, { name: 'b', lane }, { name: 'c' }, { name: 'd', lane }]);
  assert.deepEqual(log, ['+a', '+c']);
  await end('a');
  assert.equal(log.at(-1), '+b');
  await end('b');
  assert.equal(log.at(-1), '+d');
});

test('dependents of a failed task are not run, and the rest is', async () => {
  const { graph, log, end } = bench([
    { name: 'a', fails: true },
    { name: 'b', needs: ['a'] },
    { name: 'c', needs: ['b'] },
    { name: 'd' },
  ]);
  await end('a');
  await end('d');
  assert.deepEqual(log, ['+a', '+d', '-a', '-d']);
  const outcomes = await graph.outcomes();
  assert.deepEqual(
    outcomes.map(({ name, ok, ran }) => [name, ok, ran]),
    [
      ['a', false, true],
      ['b', false, false],
      ['c', false, false],
      ['d', true, true],
    ],
  );
  await assert.rejects(graph.result('c'), /a failed/);
});

test('cyclic and missing dependencies are refused', () => {
  const run = async () => undefined;
  assert.throws(
    () =>
      new TaskGraph([
        { name: 'a', needs: ['b'], run },
        { name: 'b', needs: ['a'], run },
      ]),
    /waits for itself/,
  );
  assert.throws(() => new TaskGraph([{ name: 'a', needs: ['x'], run }]), /needs x/);
});

test('choosing a task chooses its dependencies', () => {
  const tasks = [{ name: 'a' }, { name: 'b', needs: ['a'] }, { name: 'c' }, { name: 'd', needs: ['b'] }];
  assert.deepEqual(
    withNeeds(tasks, ['d']).map(({ name }) => name),
    ['a', 'b', 'd'],
  );
});
