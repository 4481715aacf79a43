// Says what happens next to an operation, and what an operator can do, in one paragraph.
import { formatTime } from './format.ts'
import type { Operation } from './command.ts'

export function whatNext(operation: Operation): string {
  const { finding } = operation
  return [
    ...ofStatus(operation),
    ...(finding === null
      ? []
      : [`The finding ${finding.id} (${finding.kind}) is open: a person has to decide it.`]),
  ].join(' ')
}

function ofStatus(operation: Operation): string[] {
  switch (operation.status) {
    case 'completed':
      return [
        'It is completed. A retry with its idempotency key gets the stored response, and executes nothing.',
        'There is nothing for an operator to do.',
      ]
    case 'pending':
      return ofPending(operation)
    case 'processing':
      return ofProcessing(operation)
    case 'failed_retryable':
      return [
        operation.in_doubt
          ? 'It stopped. It is not proved that its call was not executed.'
          : 'It stopped, and it is proved that its call was not executed.',
        'It runs again when its client retries with the same idempotency key.',
        canResume(operation),
      ]
    case 'unknown':
      return ofUnknown(operation)
  }
}

function ofPending(operation: Operation): string[] {
  if (operation.resume_would === 'nothing') {
    return [
      'It waits in the queue for a worker, or for the time of its next try.',
      'There is nothing for an operator to do, as long as a worker for payments runs.',
    ]
  }
  return ['Its job is lost. The sweeper of a worker makes a new one.', canResume(operation)]
}

function ofProcessing(operation: Operation): string[] {
  const { lease_epoch: epoch, lease_expires_at: expires, resume_would: would } = operation
  const end = expires === null ? '' : formatTime(expires)
  if (would === 'nothing') {
    return [
      `A worker works on it under lease ${epoch}, which expires at ${end} unless it is renewed.`,
      'If the worker dies, another one takes over after that. There is nothing for an operator to do before.',
    ]
  }
  return [
    `Its worker is lost: lease ${epoch} expired at ${end}. The sweeper of another worker takes over.`,
    canResume(operation),
  ]
}

function ofUnknown(operation: Operation): string[] {
  const { checked_at: checked, next_check_at: next, evidence } = operation
  const last = checked === null ? '' : ` It last looked at ${formatTime(checked)}.`
  return [
    'Its provider call may have been executed, and the answer was lost. It is never repeated to find out.',
    next === null
      ? `The service no longer looks it up by itself.${last}`
      : `The service looks it up at the provider at ${formatTime(next)}, or soon after.${last}`,
    ...(evidence === null ? [] : ["An operator's claim waits for the verdict of the lookup."]),
    canResume(operation),
    `Who knows what happened can say so: npm run atomic -- resolve ${operation.id} --help`,
  ]
}

function canResume(operation: Operation): string {
  return `An operator can run: npm run atomic -- resume ${operation.id} (${operation.resume_effect})`
}
