// The guided tour: four steps, each with one button, what it will do, and what was seen.
import { useState } from 'preact/hooks'
import { html } from '../../../console/html.js'
import { Press } from './press.js'
import { hrefOf } from '../../../console/route.js'
import { killDuringCharge, loseAnswer, pay, retry } from './tour-steps.js'

/** @typedef {import('./tour-steps.js').Paid} Paid */

/** Of the API that the launcher runs: another host than that of this page. */
const consoleUrl = document.getElementById('break-it')?.dataset['console'] ?? ''

export function Tour() {
  const [first, setFirst] = useState(/** @type {Paid | undefined} */ (undefined))
  return html`<ol class="tour">
    <${Step}
      title="Pay"
      will="A client pays USD 19.99 with a new idempotency key, and the provider charges the card."
      run=${async () => {
        const paid = await pay()
        setFirst(paid)
        return paid
      }}
    />
    <${Step}
      title="Retry"
      will="The client lost the answer and sends the request again with the same key: it gets the same bytes, and the card is not charged again."
      notYet=${first === undefined ? 'First pay: this repeats the first step.' : undefined}
      run=${() => retry(/** @type {Paid} */ (first))}
    />
    <${Step}
      title="Kill the worker in the middle of a charge"
      will="The worker is killed after the provider charged the card and before the answer arrives: the next worker finishes the payment with one charge, as soon as the lease of the dead one expires (about 20 seconds)."
      run=${killDuringCharge}
    />
    <${Step}
      title="Lose the provider's answer"
      will="The provider charges the card, answers with an error, and cannot be asked for a moment: the payment is unknown, and then the charge is found, and not repeated."
      run=${loseAnswer}
    />
  </ol>`
}

/**
 * @param {object} props
 * @param {string} props.title
 * @param {string} props.will
 * @param {string} [props.notYet]
 * @param {(say: (text: string, payment?: string) => void) => Promise<{ seen: string, payment: string }>} props.run
 */
function Step({ title, will, notYet, run }) {
  const press = async (/** @type {unknown} */ _, /** @type {(seen: unknown) => void} */ say) => {
    const { seen, payment } = await run((text, of) =>
      say(html`<${Seen} text=${text} payment=${of} />`),
    )
    return html`<${Seen} text=${seen} payment=${payment} />`
  }
  return html`<li class="card" aria-label=${title}>
    <p>${will}</p>
    <${Press} label=${title} notYet=${notYet} run=${press} />
  </li>`
}

/** @param {{ text: string, payment?: string }} props */
function Seen({ text, payment }) {
  const life =
    payment && html`<a href=${`${consoleUrl}${hrefOf('payments', {}, payment)}`}>Its life</a>`
  return html`${`${text} `}${life}`
}
