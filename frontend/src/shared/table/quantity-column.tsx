import { type Quantity, quantityText } from '../format/quantity.js';
import { MeasuredText } from '../ui/rate-text.js';
import type { Column } from './column.js';

interface QuantityColumn<Row> extends Pick<Column<Row>, 'id' | 'title' | 'hint' | 'className'> {
  readonly quantity: Quantity;
  readonly value: (row: Row) => number | null | undefined;
}

/** A column of figures in one quantity, each with its unit. */
export function quantityColumn<Row>({ quantity, ...column }: QuantityColumn<Row>): Column<Row> {
  return { ...column, number: true, cell: (row) => quantityText(quantity, column.value(row)) };
}

/** A column of figures that are measured and go on changing: the last known ones are stale while the browser is cut off. */
export function measuredColumn<Row>({ quantity, ...column }: QuantityColumn<Row>): Column<Row> {
  return { ...column, number: true, cell: (row) => <MeasuredText quantity={quantity} value={column.value(row)} /> };
}
