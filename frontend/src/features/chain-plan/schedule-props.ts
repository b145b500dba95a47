import type { Plan, ScheduleForm } from '@orrery/contract';

export interface ScheduleFormProps {
  readonly plan: Plan;
  readonly schedule: ScheduleForm;
}
