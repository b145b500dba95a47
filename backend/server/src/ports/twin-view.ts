export const TWIN = Symbol('TwinView');

/** The twin, for other modules. */
export interface TwinView {
  readonly enabled: boolean;
  onChange(listener: () => void): void;
}
