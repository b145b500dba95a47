import type { ScenarioFigure } from '@orrery/contract';
import type { Column } from '../table/column.js';
import { DataTable } from '../table/data-table.js';
import { StatusBadge } from '../ui/status-badge.js';
import { barText, figureText, judgementOf, originText, ratioText } from './figure-text.js';

const COLUMNS: readonly Column<ScenarioFigure>[] = [
  { id: 'figure', title: 'Figure', value: ({ name }) => name },
  {
    id: 'published',
    title: 'Published',
    number: true,
    value: ({ published }) => published,
    cell: ({ published, unit }) => figureText(published, unit),
  },
  {
    id: 'here',
    title: 'Here',
    number: true,
    value: ({ here }) => here,
    cell: ({ here, unit }) => figureText(here, unit),
  },
  { id: 'ratio', title: 'Ratio', number: true, cell: ratioText },
  {
    id: 'bar',
    title: 'Bar',
    value: barText,
    cell: (figure) =>
      figure.bar && (
        <>
          {barText(figure)} <StatusBadge lasting state={judgementOf(figure)} />
        </>
      ),
  },
  { id: 'source', title: 'Source', value: ({ source }) => source },
  { id: 'origin', title: 'Note', value: originText },
];

/** Figures of a run next to the published ones. */
export function FiguresTable({ figures }: { readonly figures: readonly ScenarioFigure[] }) {
  return (
    <DataTable
      label="Figures, published and here"
      columns={COLUMNS}
      rows={figures}
      rowKey={({ name }) => name}
      cards={560}
    />
  );
}
