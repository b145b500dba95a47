import type { Event } from '@orrery/contract';
import { eventText } from '../../shared/format/event-text.js';
import { clockTextMs, dateTimeText } from '../../shared/format/time.js';
import type { Column } from '../../shared/table/column.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { SubjectLink } from '../../shared/ui/subject-link.js';
import classes from './events.module.css';

/** `titleOf` gives the title of a subject that has one, else its id. */
export function eventColumns(titleOf: (subject: string) => string): readonly Column<Event>[] {
  return [
    {
      id: 'time',
      title: 'Time',
      className: classes.time,
      value: ({ t_ms }) => t_ms,
      cell: ({ t_ms }) => <span title={dateTimeText(t_ms)}>{clockTextMs(t_ms)}</span>,
    },
    {
      id: 'severity',
      title: 'Severity',
      className: classes.severity,
      value: ({ severity }) => severity,
      cell: ({ severity }) => <StatusBadge state={severity} />,
    },
    {
      id: 'type',
      title: 'Type',
      className: classes.type,
      value: ({ type }) => type,
      cell: ({ type }) => <code>{type}</code>,
    },
    {
      id: 'subject',
      title: 'Subject',
      className: classes.subject,
      value: ({ subject }) => titleOf(subject),
      cell: ({ subject }) => <SubjectLink subject={subject} />,
    },
    {
      id: 'message',
      title: 'Message',
      className: classes.message,
      control: true,
      value: eventText,
      cell: (event) => (
        <>
          <span className={classes.about}>{titleOf(event.subject)}: </span>
          {eventText(event)}
        </>
      ),
    },
    { id: 'actor', title: 'By', className: classes.actor, value: ({ actor }) => actor },
  ];
}
