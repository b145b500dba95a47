import { TextInput } from '@mantine/core';
import type { NfDescriptor } from '@orrery/contract';
import { IconBooks, IconSearch } from '@tabler/icons-react';
import { useNfDescriptors } from '../../shared/api/queries.js';
import { formsOf, formsText } from '../../shared/format/form.js';
import { DetailPanel, WithDetail } from '../../shared/ui/detail-panel.js';
import { NfIcon } from '../../shared/ui/nf-icon.js';
import { PageBody, PageHeader, Panel } from '../../shared/ui/page-header.js';
import { RateText } from '../../shared/ui/rate-text.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import classes from './catalogue.module.css';
import { REFERENCE_PACKET_BYTES, rateOfOneCore } from './cost.js';
import { DescriptorDetail, Tags } from './descriptor-detail.js';

function matches({ id, title, summary, category }: NfDescriptor, text: string): boolean {
  return `${id} ${title} ${summary} ${category}`.toLowerCase().includes(text.toLowerCase());
}

export function Component() {
  const query = useNfDescriptors();
  const [text, setText] = useUrlParam('q');
  const [selectedId, select] = useUrlParam('nf');
  const all = query.data ?? [];
  const items = all.filter((item) => matches(item, text));
  const selected = all.find(({ id }) => id === selectedId);
  return (
    <WithDetail
      detail={
        selected && (
          <DetailPanel
            key={selected.id}
            label={`Network function ${selected.title}`}
            title={selected.title}
            onClose={() => select(null)}
          >
            <DescriptorDetail descriptor={selected} />
          </DetailPanel>
        )
      }
    >
      <PageHeader
        title="Catalogue"
        description="The network functions that chains are made of: what they read and change in a packet, and what a packet costs."
      >
        <TextInput
          aria-label="Search network functions"
          placeholder="Search"
          leftSection={<IconSearch size={14} />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </PageHeader>
      <PageBody>
        <Panel flush>
          <QueryBoundary query={query}>
            {items.length === 0 ? (
              <EmptyState icon={IconBooks} title={text ? `Nothing matches “${text}”` : 'The catalogue is empty'}>
                {!text && 'A network function is a folder with a descriptor; the server reads them when it starts.'}
              </EmptyState>
            ) : (
              <table className="table">
                <thead>
                  <tr>
                    <th scope="col">Network function</th>
                    <th scope="col">Category</th>
                    <th scope="col">Tags packets with</th>
                    <th scope="col">Writes</th>
                    <th scope="col">May drop</th>
                    <th scope="col">State</th>
                    <th scope="col">Runs as</th>
                    <th scope="col" className="number">
                      Cycles a packet
                    </th>
                    <th
                      scope="col"
                      className="number"
                      title={`Estimate for packets of ${REFERENCE_PACKET_BYTES} bytes at 1 GHz`}
                    >
                      One core, a GHz
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {items.map((item) => {
                    // Of the plainest form: cycles of a core, where there is software.
                    const [plainest] = formsOf(item.implementations);
                    const { cost } = item.implementations.find(({ kind }) => kind === plainest)!;
                    return (
                      <tr key={item.id} data-clickable="true" data-selected={item.id === selectedId}>
                        <td className={classes.nameCell}>
                          <div className={classes.name}>
                            <span className={classes.icon}>
                              <NfIcon icon={item.icon} size={18} />
                            </span>
                            <span>
                              <button type="button" className="row-link" onClick={() => select(item.id)}>
                                {item.title}
                              </button>
                              <span className={classes.summary}>{item.summary}</span>
                            </span>
                          </div>
                        </td>
                        <td>{item.category}</td>
                        <td>
                          <Tags items={item.attributes.map(({ name }) => `${item.id}.${name}`)} />
                        </td>
                        <td>
                          <Tags items={item.actions.writes} />
                        </td>
                        <td>{item.actions.may_drop ? 'yes' : <span className="muted">no</span>}</td>
                        <td>{item.state.kind === 'none' ? <span className="muted">none</span> : item.state.kind}</td>
                        <td className={classes.formsCell}>{formsText(item.implementations)}</td>
                        <td className="number">
                          {cost.cycles_per_packet}
                          {cost.cycles_per_byte > 0 && <span className="muted"> + {cost.cycles_per_byte} a byte</span>}
                        </td>
                        <td className="number">
                          <RateText quantity="pps" value={rateOfOneCore(cost)} />
                        </td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            )}
          </QueryBoundary>
        </Panel>
      </PageBody>
    </WithDetail>
  );
}
