import type { Application, ApplicationKindInfo } from '@orrery/contract';
import { type FormField, formFields, type RowsField } from '../../shared/form/field-model.js';
import { quantityText } from '../../shared/format/quantity.js';

/** `web-1, Port 80, Rate 20 requests/s`: the destination, and what differs from the defaults. */
export function settingsText(
  { definition }: Application,
  kind: ApplicationKindInfo | undefined,
  nameOfPcap: (id: string) => string,
): string {
  if (!kind) return '';
  const config = definition.config as Readonly<Record<string, unknown>>;
  return formFields(kind.config_schema)
    .flatMap((field) => settingText(field, config[field.key], nameOfPcap))
    .join(', ');
}

function settingText(field: FormField, value: unknown, nameOfPcap: (id: string) => string) {
  if (field.kind === 'reference' && field.to === 'destination') return [`to ${value}`];
  if (field.kind === 'reference' && field.to === 'capture') return [nameOfPcap(String(value))];
  const isAlwaysTold = field.key === 'port' || (field.key.startsWith('rate') && value !== 0);
  const isAsUsual = value === field.default && !isAlwaysTold;
  if (value === undefined || value === '' || isAsUsual) return [];
  if (field.kind === 'rows' && Array.isArray(value)) return rowsText(field, value.length);
  if (field.kind === 'boolean') return value ? [field.title.toLowerCase()] : [];
  if (field.kind !== 'number' || typeof value !== 'number') return [`${field.title.toLowerCase()} ${value}`];
  const { unit } = field;
  if (unit === 'bps' || unit === 'pps') return [quantityText(unit, value)];
  return unit.includes('/') ? [`${value} ${unit}`] : [`${field.title.toLowerCase()} ${value}${unit ? ` ${unit}` : ''}`];
}

const rowsText = ({ title, itemTitle }: RowsField, count: number) =>
  count === 0 ? [] : [`${title.toLowerCase()} of ${count} ${itemTitle}${count === 1 ? '' : 's'}`];

type Metric = Application['status']['metrics'][number];

export const metricText = ({ unit, value }: Metric): string => quantityText(unit, value);

/** Problems first, then running ones, each sorted by id. */
export function inOrder(applications: readonly Application[]): Application[] {
  const rank = ({ status: { state } }: Application) => {
    const found = ['failed', 'unresponsive', 'unknown', 'starting', 'running', 'completed'].indexOf(state);
    return found < 0 ? 9 : found;
  };
  return [...applications].sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1));
}
