/** A port of a P4 switch. */
export interface P4Port {
  readonly number: number;
  /** On this machine, which tells whether the port is up; absent: it is up as long as the switch answers. */
  readonly interface?: string | undefined;
}
