// GET /admin/dead-letters
import { z } from 'zod'
import { deadLetterQueues, listDeadLetters, type DeadLetter } from '../../db/queue/dead-letters.ts'
import { showId } from '../../domain/resource-id.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import { oneOfFilter } from '../list-filters.ts'
import { parseFilteredQuery } from '../list-query.ts'
import { showPage } from '../show-page.ts'

const filtersKnown = { queue: oneOfFilter(deadLetterQueues.join(', '), deadLetterQueues) }

const uuid = z.uuid()

/** Jobs have ids of pg-boss's making, which its dashboard shows as well. */
const parseJobId = (text: string): string | undefined => uuid.safeParse(text).data

export const listDeadLettersEndpoint: AdminEndpoint = async (parts, request) => {
  const { page, filters } = parseFilteredQuery(request.query, parseJobId, filtersKnown)
  const found = listDeadLetters(parts.store.sql, filters.queue, page)
  return showPage(await withinStoreTimeout(parts, found), presentDeadLetter)
}

function presentDeadLetter(letter: DeadLetter): Record<string, unknown> {
  return {
    id: letter.id,
    object: 'dead_letter',
    queue: letter.queue,
    source_queue: letter.sourceQueue,
    about: subjectOf(letter),
    job: letter.job,
    retries: letter.retries,
    last_error: letter.lastError,
    died_at: letter.diedAt,
  }
}

/** What the job is about, as the API shows its id. */
function subjectOf({ job }: DeadLetter): string | null {
  const { operationId, deliveryId, runId, eventId } = job
  if (uuid.safeParse(operationId).success) return showId('op', String(operationId))
  if (uuid.safeParse(deliveryId).success) return showId('wd', String(deliveryId))
  if (uuid.safeParse(runId).success) return showId('rec', String(runId))
  return typeof eventId === 'string' ? eventId : null
}
