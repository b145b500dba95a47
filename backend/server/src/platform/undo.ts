/** Clean-up steps, run in reverse order after a partial failure or at the end. */
export class Undo {
  private readonly steps: (() => Promise<void>)[] = [];

  later(step: () => Promise<void>): void {
    this.steps.push(step);
  }

  /** Runs every step, even after one that fails. Rejects with the first failure. */
  async all(): Promise<void> {
    const failures: unknown[] = [];
    for (const step of this.steps.splice(0).reverse()) await step().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }
}
