// Explains the words of the service where they stand, and all of them at the end of each page.
import { html } from './html.js'

/** In lower case. @type {Record<string, string>} */
const TERMS = {
  operation: 'The work for one request of a client, or for one event of the provider.',
  attempts: 'How many times a worker began the present step.',
  'recovery point': 'The last step that was recorded. After a crash, work goes on from it.',
  'lease expires':
    'A worker owns an operation for the time of its lease. When it ends, another worker takes over.',
  'lease epoch':
    'Counts the leases. Each worker that owns the operation gets the next number, and then earlier ones can record nothing more.',
  'in doubt': 'A call of the present step may have been executed, and its answer is not known.',
  'unknown outcome':
    'The answer of the provider was lost, so that a charge may have been made. It is looked up, and never repeated blindly.',
  'unknown outcomes':
    'Operations for which the answer of the provider was lost. Each is looked up, and never repeated blindly.',
  lookup: 'A question to the provider about what a call did. It executes nothing.',
  takeovers: 'A worker went on with an operation that an earlier one had left without a word.',
  resume: 'What an operator can request now, without waiting for the service to do it by itself.',
  'dead letters': 'Jobs that used up their retries. They wait until somebody redrives them.',
  redrive: 'Puts a dead letter back into its queue, with all its retries.',
  'open findings': 'Differences that the service could not repair by itself. Each needs a person.',
  'open circuits':
    'After repeated failures a process stops its calls for a while, and only tries single ones.',
  'waits for a second operator':
    'A proposed resolution has no effect until another operator confirms it, within 24 hours.',
  'idempotency key': 'Names the request of a client: repeated with the same key, it runs once.',
}

/** A word with its explanation, if it has one. @param {{ name: string }} props */
export function Term({ name }) {
  const explanation = TERMS[name.toLowerCase()]
  if (explanation === undefined) return name
  return html`<details class="term">
    <summary>${name}</summary>
    <span>${explanation}</span>
  </details>`
}

export function Glossary() {
  return html`<details class="glossary">
    <summary>What the words mean</summary>
    <dl>
      ${Object.entries(TERMS).map(
        ([name, explanation]) =>
          html`<div key=${name}>
            <dt>${name}</dt>
            <dd>${explanation}</dd>
          </div>`,
      )}
    </dl>
  </details>`
}
