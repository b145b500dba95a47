import type { BoardModule, NfDescriptor } from '@orrery/contract';
import { IconPackages } from '@tabler/icons-react';
import { Link } from 'react-router';
import { formsText } from '../../shared/format/form.js';
import { EmptyState } from '../../shared/ui/states.js';
import classes from './accelerators.module.css';

interface ModuleTableProps {
  readonly modules: readonly BoardModule[];
  readonly descriptors: readonly NfDescriptor[];
}

const whole = (value: number) => value.toLocaleString(undefined, { maximumFractionDigits: 1 });

/** What boards can load: resources and clock by the open flow, for each family, beside what was published. */
export function ModuleTable({ modules, descriptors }: ModuleTableProps) {
  if (modules.length === 0)
    return (
      <EmptyState icon={IconPackages} title="No module for boards is known">
        Modules are built with the boards; their figures come from the open flow.
      </EmptyState>
    );
  return (
    <table className={`table ${classes.modules}`} aria-label="Board modules">
      <thead>
        <tr>
          <th scope="col">Module</th>
          <th scope="col">NF</th>
          <th scope="col">Figures of</th>
          <th scope="col" className="number">
            LUT
          </th>
          <th scope="col" className="number">
            FF
          </th>
          <th scope="col" className="number">
            BRAM
          </th>
          <th scope="col" className="number">
            Fmax
          </th>
          <th scope="col">Note</th>
        </tr>
      </thead>
      {modules.map((module) => (
        <ModuleRows key={module.id} module={module} descriptor={descriptors.find(({ id }) => id === module.nf)} />
      ))}
    </table>
  );
}

interface Figures {
  readonly name: string;
  readonly published: boolean;
  readonly lut: number;
  readonly ff: number;
  readonly bram_kib: number;
  readonly fmax_mhz: number | null;
  readonly note: string;
}

function figuresOf({ published, synthesis }: BoardModule): Figures[] {
  return [
    ...(published
      ? [{ name: `published (${published.source})`, published: true, ...published, fmax_mhz: null, note: '' }]
      : []),
    ...synthesis.map(({ family, ...figures }) => ({ name: family, published: false, ...figures })),
  ];
}

function ModuleRows({ module, descriptor }: { readonly module: BoardModule; readonly descriptor?: NfDescriptor }) {
  const rows = figuresOf(module);
  const head = (
    <>
      <th scope="rowgroup" rowSpan={Math.max(1, rows.length)} className={classes.moduleHead}>
        {module.title}
        <code>{module.id}</code>
      </th>
      <td rowSpan={Math.max(1, rows.length)} className={classes.moduleNf}>
        {module.nf ? (
          <>
            <Link to={`/catalogue?nf=${encodeURIComponent(module.nf)}`}>{descriptor?.title ?? module.nf}</Link>
            <span className={classes.small}>
              {descriptor ? `runs as ${formsText(descriptor.implementations)}` : 'not in the catalogue'}
            </span>
          </>
        ) : (
          <span className="muted">a stream, no hop of a chain</span>
        )}
      </td>
    </>
  );
  if (rows.length === 0)
    return (
      <tbody>
        <tr>
          {head}
          <td colSpan={6} className="muted">
            no figures yet
          </td>
        </tr>
      </tbody>
    );
  return (
    <tbody>
      {rows.map((row, index) => (
        <tr key={row.name} data-published={row.published || undefined}>
          {index === 0 && head}
          <td className={classes.nowrap}>{row.name}</td>
          <td className="number">{whole(row.lut)}</td>
          <td className="number">{whole(row.ff)}</td>
          <td className="number">{whole(row.bram_kib)} KiB</td>
          <td className="number">{row.fmax_mhz === null ? '–' : `${whole(row.fmax_mhz)} MHz`}</td>
          <td className={classes.note}>{row.note}</td>
        </tr>
      ))}
    </tbody>
  );
}
