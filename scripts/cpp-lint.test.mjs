import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closureOf, groupsOf } from './cpp-lint/translation-units.mjs';

const texts = (files) => (path) => files[path] ?? '';

test('every file is in one group, with files of its project and kind, and one main at most', () => {
  const sources = Array.from({ length: 50 }, (_, n) => `agents/nfs/nf_${n}.cc`);
  const tests = ['agents/nfs/nat/nat_test.cc', 'agents/nfs/tests/every.cc', 'agents/nfs/testing/frames.cc'];
  const paths = [
    ...sources,
    ...tests,
    'twin/linkd/main.cc',
    'twin/linkd/bench.cc',
    'twin/linkd/line.cc',
    'fpga/board/wrap.cc',
  ];
  const main = 'int main() {}';
  const groups = groupsOf(
    paths,
    texts({ 'twin/linkd/main.cc': main, 'twin/linkd/bench.cc': main }),
    new Set(['fpga/board/wrap.cc']),
  );
  assert.deepEqual(groups.flatMap((group) => group.paths).sort(), [...paths].sort());
  assert.deepEqual(
    groups.filter((group) => group.tests).map((group) => group.paths),
    [tests],
  );
  assert.deepEqual(
    groups.map((group) => group.paths.filter((path) => /main|bench/.test(path)).length).filter((n) => n > 0),
    [1, 1],
  );
  assert.equal(Math.max(...groups.map((group) => group.paths.length)) <= 20, true);
  assert.deepEqual(groups.at(-1).paths, ['fpga/board/wrap.cc']);
});

test('a closure holds the headers that are reached, beside the file or in an include directory', () => {
  const files = { 'agents/a/a.cc': '#include "b.h"\n#include <vector>\n', 'agents/a/b.h': '#include "support/c.h"\n' };
  const exists = (path) => ['agents/a/b.h', 'agents/support/c.h'].includes(path);
  assert.deepEqual(closureOf(['agents/a/a.cc'], ['agents'], texts(files), exists), [
    'agents/a/a.cc',
    'agents/a/b.h',
    'agents/support/c.h',
  ]);
});

test('a header that is not found is an error', () => {
  assert.throws(
    () => closureOf(['agents/a/a.cc'], ['agents'], texts({ 'agents/a/a.cc': '#include "absent.h"\n' }), () => false),
    /agents\/a\/a\.cc includes absent\.h, which is not found/,
  );
});
