export type Severity = 'info' | 'warning' | 'error';

/** Lines on standard error, for the operator and the agent's supervisor. */
export function log(severity: Severity, message: string): void {
  console.error(`${new Date().toISOString()} ${severity} ${message}`);
}
