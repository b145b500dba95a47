import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import ts from 'typescript';
import { ROOT } from './setup/paths.mjs';

const LIMIT_LINES = 150;

/** Components (functions with a capital letter) of a TypeScript source that are longer than the limit. */
export function longComponents(file, text, limit = LIMIT_LINES) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const line = (position) => source.getLineAndCharacterOfPosition(position).line + 1;
  const found = [];
  const visit = (node) => {
    const isFunction = ts.isFunctionDeclaration(node) || ts.isArrowFunction(node) || ts.isFunctionExpression(node);
    const named = node.name ?? (ts.isVariableDeclaration(node.parent ?? node) ? node.parent.name : undefined);
    if (isFunction && /^[A-Z]/.test(named?.getText(source) ?? '')) {
      const first = line(node.getStart(source));
      const lines = line(node.end) - first + 1;
      if (lines > limit) found.push({ file, first, name: named.getText(source), lines });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Prints the components of the given files that are too long; the exit status says whether there are any. */
if (process.argv[1] === import.meta.filename) {
  const files = process.argv.slice(2).filter((file) => file.endsWith('.tsx') && !file.endsWith('.test.tsx'));
  const found = files.flatMap((file) => longComponents(file, readFileSync(resolve(ROOT, file), 'utf8')));
  for (const { file, first, name, lines } of found)
    console.error(`${file}:${first}: component ${name} has ${lines} lines; at most ${LIMIT_LINES}`);
  process.exit(found.length > 0 ? 1 : 0);
}
