import type { Quantity } from '../format/quantity.js';
import { LiveRate } from '../ui/rate-text.js';
import type { Column } from './column.js';

interface LiveColumn<Row> extends Pick<Column<Row>, 'id' | 'title' | 'hint' | 'className'> {
  readonly quantity: Quantity;
  readonly sampleKey: (row: Row) => string;
}

/** A column with the latest value of one sample key per row; sortable while values change. */
export function liveColumn<Row>({ quantity, ...column }: LiveColumn<Row>): Column<Row> {
  return {
    ...column,
    number: true,
    cell: (row) => <LiveRate sampleKey={column.sampleKey(row)} quantity={quantity} />,
  };
}
