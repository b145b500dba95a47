export const TWIN = Symbol('TwinView');

/** What other modules need to know of the twin. */
export interface TwinView {
  readonly enabled: boolean;
}
