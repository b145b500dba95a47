import { dirname, join } from 'node:path';

const LARGEST_GROUP = 20;
const isTest = (path) => /\/(tests|testing|fuzz)\/|_test\.cc$/.test(path);
// A `main`, or what libFuzzer's calls.
const isProgram = (text) => /^(int main|extern "C" int LLVMFuzzerTestOneInput)\(/m.test(text);
const projectOf = (path) => path.split('/').slice(0, 2).join('/');

/**
 * The files in groups that are checked as one translation unit, because most of the time of a file goes into the headers
 * that all include: sources or tests of one project, at most one of them a program, none of them in `alone`.
 * @param {string[]} paths relative to the checkout
 * @param {(path: string) => string} textOf
 * @param {ReadonlySet<string>} alone files that are checked by themselves
 */
export function groupsOf(paths, textOf, alone = new Set()) {
  const kinds = new Map();
  for (const path of paths) {
    const key = alone.has(path) ? path : `${projectOf(path)} ${isTest(path)}`;
    kinds.set(key, [...(kinds.get(key) ?? []), path]);
  }
  return [...kinds.values()].flatMap((kind) => {
    const programs = kind.filter((path) => isProgram(textOf(path)));
    const others = kind.filter((path) => !programs.includes(path));
    const count = Math.max(Math.ceil(kind.length / LARGEST_GROUP), programs.length);
    return Array.from({ length: count }, (_, n) => ({
      tests: isTest(kind[0]),
      paths: [
        ...others.slice((others.length * n) / count, (others.length * (n + 1)) / count),
        ...programs.slice(n, n + 1),
      ],
    }));
  });
}

/**
 * The files and the headers of ours that they reach, sorted. Throws if one of these is not found.
 * @param {string[]} includeDirs searched after the directory of the file that includes
 * @param {(path: string) => boolean} exists
 */
export function closureOf(paths, includeDirs, textOf, exists) {
  const seen = new Set(paths);
  for (const file of seen)
    for (const [, name] of textOf(file).matchAll(/^#include "([^"]+)"/gm)) {
      const found = [dirname(file), ...includeDirs].map((dir) => join(dir, name)).find(exists);
      if (found === undefined) throw new Error(`${file} includes ${name}, which is not found`);
      seen.add(found);
    }
  return [...seen].sort();
}
