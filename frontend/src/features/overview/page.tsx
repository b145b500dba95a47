import { PageBody, PageHeader } from '../../shared/page/page-header.js';
import { Alerts, HealthStrip, Troubles } from './health.js';
import classes from './overview.module.css';
import { Placement } from './placement-advice.js';
import { RecentEvents } from './recent-events.js';
import { RunningChains } from './running-chains.js';
import { Servers } from './servers.js';
import { Throughput } from './throughput.js';

export function Component() {
  return (
    <>
      <PageHeader />
      <PageBody>
        <div>
          <HealthStrip />
          <Troubles />
          <Alerts />
        </div>
        <Placement />
        <RunningChains />
        <Throughput />
        <div className={classes.columns}>
          <Servers />
          <RecentEvents />
        </div>
      </PageBody>
    </>
  );
}
