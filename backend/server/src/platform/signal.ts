/** Wakes whoever waits; a wake-up while nobody waits is kept for the next who does. */
export class Signal {
  private pending = false;
  private release: (() => void) | null = null;

  wake(): void {
    this.pending = true;
    this.release?.();
  }

  /** Resolves at the next wake-up, or after `ms`. One waiter at a time. */
  async wait(ms?: number): Promise<void> {
    if (!this.pending) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.release = resolve;
        if (ms !== undefined) timer = setTimeout(resolve, ms);
      });
      clearTimeout(timer);
      this.release = null;
    }
    this.pending = false;
  }
}
