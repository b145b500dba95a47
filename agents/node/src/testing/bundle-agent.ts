import { execFileSync } from 'node:child_process';
import type { TestProject } from 'vitest/node';
import { PACKAGE_ROOT } from '../package-root.js';

/** Before all tests, because no agent may start from a file that is being written. */
export default function setUp(project: TestProject): void {
  bundle();
  project.onTestsRerun(bundle);
}

function bundle(): void {
  execFileSync(process.execPath, ['bundle.mjs'], { cwd: PACKAGE_ROOT });
}
