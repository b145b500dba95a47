export type Severity = 'info' | 'warning' | 'error';

/** Lines on standard error, for the operator and the supervisor of the agent. */
export function log(severity: Severity, message: string): void {
  process.stderr.write(`${new Date().toISOString()} ${severity} ${message}\n`);
}
