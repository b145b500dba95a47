import type { NfDescriptor } from '@orrery/contract';
import { formsOf, formsText } from '../../shared/format/form.js';
import { countText } from '../../shared/format/number.js';
import type { Column } from '../../shared/table/column.js';
import { NfIcon } from '../../shared/ui/nf-icon.js';
import { RateText } from '../../shared/ui/rate-text.js';
import classes from './catalogue.module.css';
import { REFERENCE_PACKET_BYTES, rateOfOneCore } from './cost.js';
import { Tags } from './tags.js';

/** Cost of the simplest implementation: core cycles if there is software. */
function costOf({ implementations }: NfDescriptor) {
  const [plainest] = formsOf(implementations);
  return implementations.find(({ kind }) => kind === plainest)!.cost;
}

const tagsOf = ({ id, attributes }: NfDescriptor) => attributes.map(({ name }) => `${id}.${name}`);

export const COLUMNS: readonly Column<NfDescriptor>[] = [
  {
    id: 'title',
    title: 'Network function',
    className: classes.nameCell,
    value: ({ title }) => title,
    cell: ({ title, icon }) => (
      <span className={classes.name}>
        <span className={classes.icon}>
          <NfIcon icon={icon} size={18} />
        </span>
        {title}
      </span>
    ),
    note: ({ summary }) => <span className={classes.summary}>{summary}</span>,
  },
  { id: 'id', title: 'Id', value: ({ id }) => id, cell: ({ id }) => <code>{id}</code>, hidden: true },
  { id: 'category', title: 'Category', value: ({ category }) => category },
  {
    id: 'tags',
    title: 'Tags packets with',
    value: (item) => tagsOf(item).join(' '),
    cell: (item) => <Tags items={tagsOf(item)} />,
  },
  {
    id: 'writes',
    title: 'Writes',
    value: ({ actions }) => actions.writes.join(' '),
    cell: ({ actions }) => <Tags items={actions.writes} />,
  },
  {
    id: 'may-drop',
    title: 'May drop',
    value: ({ actions }) => (actions.may_drop ? 'yes' : 'no'),
    cell: ({ actions }) => (actions.may_drop ? 'yes' : <span className="muted">no</span>),
  },
  {
    id: 'state',
    title: 'State',
    value: ({ state }) => state.kind,
    cell: ({ state }) => (state.kind === 'none' ? <span className="muted">none</span> : state.kind),
  },
  {
    id: 'forms',
    title: 'Runs as',
    className: classes.formsCell,
    value: ({ implementations }) => formsText(implementations),
  },
  {
    id: 'cycles',
    title: 'Cycles per packet',
    number: true,
    value: (item) => costOf(item).cycles_per_packet,
    cell: (item) => {
      const { cycles_per_packet, cycles_per_byte } = costOf(item);
      return (
        <>
          {countText(cycles_per_packet)}
          {cycles_per_byte > 0 && <span className="muted"> + {cycles_per_byte} per byte</span>}
        </>
      );
    },
  },
  {
    id: 'rate',
    title: 'Rate per GHz',
    hint: `Estimate for one core and packets of ${REFERENCE_PACKET_BYTES} bytes`,
    number: true,
    value: (item) => rateOfOneCore(costOf(item)),
    cell: (item) => <RateText quantity="pps" value={rateOfOneCore(costOf(item))} />,
  },
  { id: 'summary', title: 'Summary', value: ({ summary }) => summary, hidden: true },
];
