import type { z } from 'zod';
import type { FieldError } from './common.js';
import './issue-words.js';

/** JSON Pointer (RFC 6901) of a zod path. */
export function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** More errors than this are not listed. */
const MOST = 100;

/** The first hundred errors with their pointers; for an unknown field the pointer is that of the field, not of its owner. */
export function fieldErrors(error: z.ZodError): FieldError[] {
  const errors: FieldError[] = [];
  const visit = (issues: readonly z.core.$ZodIssue[], base: readonly PropertyKey[]): void => {
    for (const issue of issues) {
      if (errors.length >= MOST) return;
      const path = [...base, ...issue.path];
      if (issue.code === 'unrecognized_keys') {
        for (const key of issue.keys.slice(0, MOST - errors.length))
          errors.push({ pointer: pointerOf([...path, key]), detail: 'is not a known field', code: 'unknown-field' });
      } else if (issue.code === 'invalid_union' && issue.errors.length > 0) {
        visit(nearestBranch(issue.errors), path);
      } else {
        errors.push({ pointer: pointerOf(path), detail: issue.message, code: issue.code.replaceAll('_', '-') });
      }
    }
  };
  visit(error.issues, []);
  return errors;
}

/** The most likely branch of a union: the one that fails deepest, then with the fewest issues. */
function nearestBranch(branches: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] {
  const score = (issues: readonly z.core.$ZodIssue[]) =>
    issues.filter((issue) => issue.code === 'unrecognized_keys' || issue.path.length === 0).length * 100 +
    issues.length;
  return branches.reduce((best, branch) => (score(branch) < score(best) ? branch : best));
}
