// The fields of a webhook endpoint that its tenant chooses, when it creates or changes one.
import { z } from 'zod'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { wantedEventTypes } from '../../domain/webhooks/webhook-endpoint.ts'
import { checkWebhookUrl } from '../../domain/webhooks/webhook-url.ts'
import type { ApiParts } from '../endpoint.ts'
import { textField } from '../requests/body-fields.ts'

const URL_LENGTH_MAX = 2048

export const urlField = z.string().min(1).max(URL_LENGTH_MAX).meta({
  description:
    'The URL to send events to. It must use https and resolve to an address on the public internet.',
})

export const wantedEventType = z.enum(wantedEventTypes).meta({ id: 'WantedEventType' })

export const eventTypesField = z
  .array(wantedEventType)
  .min(1)
  .max(wantedEventTypes.length)
  .refine((types) => new Set(types).size === types.length, { error: 'A type is repeated' })

export const descriptionField = textField({ max: 1000 })

export const aboutDescription = { description: 'Free text, for people.' }

/** @throws ProblemError webhook-url-refused. */
export function refuseBadUrl({ settings }: ApiParts, url: string): void {
  const checked = checkWebhookUrl(url, { allowInsecure: settings.WEBHOOK_ALLOW_INSECURE })
  if ('url' in checked) return
  const errors = [{ pointer: '/url', detail: checked.refusal }]
  throw new ProblemError('webhook-url-refused', { detail: checked.refusal, errors })
}
