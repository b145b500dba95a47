export interface ChartSeries {
  /** A sample key of the contract. */
  readonly key: string;
  readonly label: string;
  readonly dashed?: boolean;
  /** What its points are shown as a share of, such as a limit; absent: they are shown as they are. */
  readonly full?: number;
}
