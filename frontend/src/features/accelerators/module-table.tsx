import type { BoardModule, NfDescriptor } from '@orrery/contract';
import { IconPackages } from '@tabler/icons-react';
import { Link } from 'react-router';
import { formsText } from '../../shared/format/form.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { EmptyState } from '../../shared/ui/states.js';
import classes from './accelerators.module.css';

interface ModuleTableProps {
  readonly modules: readonly BoardModule[];
  readonly descriptors: readonly NfDescriptor[];
}

/** Figures of a module on one family of devices, or as published; null where there are none yet. */
interface ModuleFigures {
  readonly module: BoardModule;
  readonly source: string | null;
  readonly published: boolean;
  readonly lut: number | null;
  readonly ff: number | null;
  readonly bram_kib: number | null;
  readonly fmax_mhz: number | null;
  readonly note: string;
}

const NO_FIGURES = { source: null, published: false, lut: null, ff: null, bram_kib: null, fmax_mhz: null, note: '' };

function figuresOf(module: BoardModule): readonly ModuleFigures[] {
  const { published, synthesis } = module;
  const figures: ModuleFigures[] = synthesis.map(({ family, ...rest }) => ({
    module,
    source: family,
    published: false,
    ...rest,
  }));
  if (published) {
    const source = `published (${published.source})`;
    figures.unshift({ module, ...published, source, published: true, fmax_mhz: null, note: '' });
  }
  return figures.length > 0 ? figures : [{ module, ...NO_FIGURES }];
}

function amount(
  id: string,
  title: string,
  value: (figures: ModuleFigures) => number | null,
  unit = '',
): Column<ModuleFigures> {
  const text = (figures: ModuleFigures) => value(figures)?.toLocaleString('en', { maximumFractionDigits: 1 });
  return { id, title, number: true, value, cell: (row) => (value(row) === null ? '–' : `${text(row)}${unit}`) };
}

function columnsOf(descriptors: readonly NfDescriptor[]): readonly Column<ModuleFigures>[] {
  const descriptorOf = ({ module }: ModuleFigures) => descriptors.find(({ id }) => id === module.nf);
  return [
    {
      id: 'module',
      title: 'Module',
      className: classes.moduleHead,
      value: ({ module }) => module.title,
      cell: ({ module }) => (
        <>
          {module.title}
          <code>{module.id}</code>
        </>
      ),
    },
    {
      id: 'nf',
      title: 'NF',
      value: ({ module }) => module.nf,
      cell: (row) => <ModuleNf nf={row.module.nf} descriptor={descriptorOf(row)} />,
    },
    {
      id: 'source',
      title: 'Figures from',
      className: classes.nowrap,
      value: ({ source }) => source,
      cell: ({ source }) => source ?? <span className="muted">no figures yet</span>,
    },
    amount('lut', 'LUT', ({ lut }) => lut),
    amount('ff', 'FF', ({ ff }) => ff),
    amount('bram', 'BRAM', ({ bram_kib }) => bram_kib, ' KiB'),
    amount('fmax', 'Fmax', ({ fmax_mhz }) => fmax_mhz, ' MHz'),
    { id: 'note', title: 'Note', className: classes.note, value: ({ note }) => note },
  ];
}

function ModuleNf({ nf, descriptor }: { readonly nf: string | null; readonly descriptor: NfDescriptor | undefined }) {
  if (!nf) return <span className="muted">none: not an NF</span>;
  return (
    <>
      <Link to={`/catalogue?nf=${encodeURIComponent(nf)}`}>{descriptor?.title ?? nf}</Link>
      <span className={classes.small}>
        {descriptor ? `runs as ${formsText(descriptor.implementations)}` : 'not in the catalogue'}
      </span>
    </>
  );
}

/** Modules that boards can load: resources and clock from the open-source flow, per family, next to published figures. */
export function ModuleTable({ modules, descriptors }: ModuleTableProps) {
  return (
    <DataTable
      label="Board modules"
      cards={620}
      className={classes.modules}
      columns={columnsOf(descriptors)}
      rows={modules.flatMap(figuresOf)}
      rowKey={({ module, source }) => `${module.id} ${source}`}
      dataOf={({ published }) => ({ 'data-published': published || undefined })}
      empty={
        <EmptyState icon={IconPackages} title="No board modules">
          Modules are built with the boards; their figures come from the open flow.
        </EmptyState>
      }
    />
  );
}
