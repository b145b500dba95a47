export const TWIN = Symbol('TwinView');

/** What other modules need to know of the twin. */
export interface TwinView {
  readonly enabled: boolean;
  /** Why the switches do not forward as they were told; null: they do, or the twin is off. */
  readonly fabricError: string | null;
  onChange(listener: () => void): void;
}
