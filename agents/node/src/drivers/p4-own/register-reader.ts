/** Registers of a switch that does not offer them by P4Runtime. */
export interface RegisterReader {
  /** The values of `count` cells from one on. Throws an error for people. */
  read(register: string, from: number, count: number): Promise<bigint[]>;
}
