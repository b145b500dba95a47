export interface ChartSeries {
  /** A sample key of the contract. */
  readonly key: string;
  readonly label: string;
  readonly dashed?: boolean;
}
