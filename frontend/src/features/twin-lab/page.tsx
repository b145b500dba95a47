import { IconBolt } from '@tabler/icons-react';
import { useInfrastructure, useTwin } from '../../shared/api/queries.js';
import { quantityText } from '../../shared/format/quantity.js';
import { PageBody, PageHeader, Panel } from '../../shared/page/page-header.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { EmptyState, ErrorState, QueryBoundary } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { Applications } from './applications.js';
import { Capture } from './capture.js';
import { Faults } from './faults.js';
import { Pcaps } from './pcaps.js';
import { Scenarios } from './scenarios.js';
import classes from './twin-lab.module.css';

const DAEMON = {
  off: 'The twin is switched off. Planning works; nothing is emulated.',
  starting: 'The twin is starting.',
  running: 'The twin runs.',
  lost: 'The twin does not answer. The data shown is old.',
};

export function Component() {
  const query = useTwin();
  const infrastructure = useInfrastructure();
  const twin = query.data;
  const state = twin?.state;
  const hosts = infrastructure.data?.hosts ?? [];
  const up = state?.phase === 'up';
  return (
    <>
      <PageHeader
        description="Run applications in the emulated network, break it, and look at what its hosts see."
        actions={<EmulatedMark />}
      />
      <PageBody>
        <QueryBoundary query={query}>
          {twin && (
            <dl className={`panel ${classes.strip}`}>
              <div>
                <dt>State</dt>
                <dd>
                  <StatusBadge state={state?.phase ?? twin.daemon} />
                </dd>
              </div>
              <div>
                <dt>Nodes</dt>
                <dd className="tabular">
                  {state ? (
                    <LastKnown>
                      {`${state.nodes.filter((node) => node.state === 'up').length} of ${state.nodes.length} up`}
                    </LastKnown>
                  ) : (
                    '–'
                  )}
                </dd>
              </div>
              <div>
                <dt>Links</dt>
                <dd className="tabular">
                  {state ? (
                    <LastKnown>
                      {`${state.links.filter((link) => link.up).length} of ${state.links.length} up`}
                    </LastKnown>
                  ) : (
                    '–'
                  )}
                </dd>
              </div>
              <div>
                <dt>Built in</dt>
                <dd>{quantityText('ms', state?.build_ms)}</dd>
              </div>
            </dl>
          )}
          <FormTrouble error={twin?.detail ?? state?.error} shown={[]} />
          {twin && !up ? (
            <Panel>
              <EmptyState
                icon={IconBolt}
                title={state?.phase === 'building' ? 'The twin is being built' : 'The twin is not up'}
              >
                {DAEMON[twin.daemon]}
              </EmptyState>
            </Panel>
          ) : infrastructure.error ? (
            <ErrorState error={infrastructure.error} retry={() => void infrastructure.refetch()} />
          ) : (
            <div className={classes.lab}>
              <div className={classes.column}>
                <Scenarios />
                {infrastructure.data && <Applications infrastructure={infrastructure.data} />}
                <Faults
                  links={infrastructure.data?.links ?? []}
                  servers={infrastructure.data?.servers ?? []}
                  boards={infrastructure.data?.boards ?? []}
                  samples={state?.links ?? []}
                />
              </div>
              <div className={classes.column}>
                <Pcaps />
                <Capture hosts={hosts} />
              </div>
            </div>
          )}
        </QueryBoundary>
      </PageBody>
    </>
  );
}
