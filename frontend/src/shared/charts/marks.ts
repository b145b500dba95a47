/** A dashed level across a chart, in the colour of the series that it is about. */
export interface ChartLevel {
  readonly value: number;
  readonly label: string;
  readonly series: number;
}

/** A time that is set off, over the whole height. */
export interface ChartBand {
  readonly from_ms: number;
  readonly to_ms: number;
}
