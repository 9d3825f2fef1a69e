//! Cases from the field, each a kind of fault that other limiters had: small inputs, and the right
//! answer. F9 to F11, F21 and F22 are about hosts and replies: `limiter.rs`, `serve.rs` and the
//! core's own tests have them, and F5, F7 and F18 are in `shards.rs`, `faults.rs` and there.

use futures::future::join_all;
use onewindow::{Amount, ErrorCode, Limit, Outcome, PreviewOutcome};
use serde_json::json;

use crate::{
    common::{self, START_MS, engines},
    kit::{HOUR_MS, World, number, rejected_for, reported_reset_ms},
};

#[tokio::test]
async fn f1_a_wait_that_is_told_is_long_enough_and_never_nothing() {
    for engine in engines() {
        let world = World::new(engine, 10).await;
        world.put(world.live(0, 1, 0)).await;
        world.clock.set_ms(START_MS + HOUR_MS - 1200);
        let no = world.take_on(0, 1, 1).await;
        assert_eq!(rejected_for(&no), Some(1200));
        // `Retry-After` rounds it up to 2 seconds: see `serve.rs`.
        world.clock.set_ms(world.now_ms() + 2000);
        assert!(world.take_on(0, 1, 1).await.is_allowed());
    }
}

#[tokio::test]
async fn f2_a_capacity_that_is_lowered_keeps_the_window() {
    for engine in engines() {
        for by_operator in [false, true] {
            let mut world = World::new(engine.clone(), 100).await;
            world.put_live(1).await;
            assert!(world.take_on(0, 1, 60).await.is_allowed());
            if by_operator {
                // What the other library does to the item: the parameter, and a clamp.
                world
                    .amend(0, json!({ "b_session_cp": { "N": "10000" }, "b_session_tk": { "N": "-50000" } }))
                    .await;
            }
            world.limits = vec![Limit::session("session", 10, HOUR_MS / 1000)];
            let request = || {
                let mut request = world.request_on(0, 1, 1);
                request.authoritative = !by_operator;
                request
            };
            world.clock.set_ms(START_MS + HOUR_MS / 2);
            let no = world.limiter.acquire(request()).await;
            assert_eq!(rejected_for(&no), Some(HOUR_MS / 2), "{no:?}");
            world.clock.set_ms(START_MS + HOUR_MS);
            let mut admitted = 0;
            while world.limiter.acquire(request()).await.is_allowed() {
                admitted += 1;
                assert!(admitted <= 10);
            }
            assert_eq!(admitted, 10);
        }
    }
}

#[tokio::test]
async fn f3_a_thousand_questions_change_nothing() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        let nothing = world.limiter.acquire(world.request(0)).await;
        assert!(nothing.is_allowed());
        assert_eq!((nothing.decision.limits[0].available, reported_reset_ms(&nothing)), (100, None));
        assert!(world.items().await.is_empty(), "no item is made");
        world.put_live(2).await;
        let before = world.items().await;
        for _ in 0..1000 {
            let answer = world.limiter.acquire(world.request(0)).await;
            assert!(answer.is_allowed());
            assert_eq!(reported_reset_ms(&answer), Some(START_MS + HOUR_MS));
        }
        assert_eq!(world.items().await, before, "byte for byte");
        // Not even where a window is over.
        world.clock.set_ms(START_MS + HOUR_MS);
        assert_eq!(reported_reset_ms(&world.limiter.acquire(world.request(0)).await), None);
        assert_eq!(world.items().await, before);
    }
}

#[tokio::test]
async fn f4_one_token_is_one_token() {
    for engine in engines() {
        let world = World::new(engine, 1).await;
        for window in 0..3 {
            assert!(world.limiter.acquire(world.request(1)).await.is_allowed(), "window {window}");
            assert!(!world.limiter.acquire(world.request(1)).await.is_allowed(), "window {window}");
            world.clock.set_ms(world.now_ms() + HOUR_MS);
        }
    }
}

#[tokio::test]
async fn f6_a_remembered_rejection_ends_with_its_window_and_is_about_nothing_else() {
    for engine in engines() {
        let world = World::new(engine.clone(), 10).await;
        world.put(world.live(0, 1, 0)).await;
        let options = onewindow_host::LimiterOptions { clock: world.clock.clone(), ..common::options() };
        let remembering = common::limiter(engine, &world.database, options);
        let ask = |request| remembering.acquire(request);
        assert_eq!(ask(world.request(1)).await.cost.requests, 1);
        assert_eq!(ask(world.request(1)).await.cost.requests, 0, "remembered");
        // Another entity, another resource, another limit.
        let mut other = world.request(1);
        other.subject.entity = "user-2".into();
        assert!(ask(other).await.is_allowed());
        let mut other = world.request(1);
        other.subject.resource = "gpt-5".into();
        assert!(ask(other).await.is_allowed());
        let mut other = world.request(1);
        other.limits.push(Limit::session("day", 10, 86_400));
        other.consume = vec![Amount::new("day", 1)];
        assert!(ask(other).await.is_allowed());
        // At its instant, and not a moment before, the table is asked again.
        world.clock.set_ms(START_MS + HOUR_MS - 1);
        assert!(!ask(world.request(1)).await.is_allowed());
        world.clock.set_ms(START_MS + HOUR_MS);
        let answer = ask(world.request(1)).await;
        assert!(answer.is_allowed() && answer.cost.requests > 0);
    }
}

#[tokio::test]
async fn f6_another_writers_reset_is_seen_within_the_time_a_rejection_is_repeated_for() {
    for engine in engines() {
        let world = World::new(engine.clone(), 10).await;
        world.put(world.live(0, 1, 0)).await;
        let options = onewindow_host::LimiterOptions { clock: world.clock.clone(), ..common::options() };
        let repeat_for = options.repeat_rejections_for;
        let remembering = common::limiter(engine, &world.database, options);
        assert!(!remembering.acquire(world.request(1)).await.is_allowed());
        world.amend(0, json!({ "b_session_tk": { "N": "10000" } })).await;
        world.clock.advance(repeat_for);
        assert!(remembering.acquire(world.request(1)).await.is_allowed());
    }
}

#[tokio::test]
async fn f8_the_largest_quota_is_exact_to_the_last_millitoken() {
    const MOST: u64 = 1_000_000_000_000_000;
    for engine in engines() {
        let world = World::new(engine, MOST).await;
        let answer = world.limiter.acquire(world.request(MOST - 1)).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert_eq!(answer.decision.limits[0].available, 1);
        let item = world.item(0).await.unwrap();
        assert_eq!(number(&item, "b_session_cp"), Some(1_000_000_000_000_000_000));
        assert_eq!(number(&item, "b_session_tc"), Some(999_999_999_999_999_000));
        assert!(!world.limiter.acquire(world.request(2)).await.is_allowed());
        assert!(world.limiter.acquire(world.request(1)).await.is_allowed());
    }
}

#[tokio::test]
async fn f12_the_reset_is_where_the_window_ends_whatever_is_asked_for() {
    for engine in engines() {
        for capacity in [1, 7, 1_000_000] {
            let mut world = World::new(engine.clone(), capacity).await;
            world.limits = vec![Limit::session("session", capacity, 60)];
            assert!(world.limiter.acquire(world.request(1)).await.is_allowed());
            world.clock.set_ms(START_MS + 48_000);
            for amount in [1, capacity] {
                let answer = world.limiter.acquire(world.request(amount)).await;
                assert_eq!(
                    reported_reset_ms(&answer).map(|ms| ms - world.now_ms()),
                    Some(12_000),
                    "{capacity}: {answer:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn f13_two_windows_on_one_item_move_each_by_itself() {
    for engine in engines() {
        let mut world = World::new(engine, 100).await;
        world.limits = vec![Limit::session("minute", 2, 60), Limit::session("session", 100, 18_000)];
        let ask = |world: &World| {
            let mut request = world.request(1);
            request.consume.push(Amount::new("minute", 1));
            request
        };
        let first = world.limiter.acquire(ask(&world)).await;
        let instants: Vec<_> = first.decision.limits.iter().map(|limit| limit.resets_at_ms).collect();
        assert_eq!(instants, [Some(START_MS + 18_000_000), Some(START_MS + 60_000)]);
        assert!(world.limiter.acquire(ask(&world)).await.is_allowed());
        // The minute says no, and its end is the answer.
        world.clock.set_ms(START_MS + 59_000);
        assert_eq!(rejected_for(&world.limiter.acquire(ask(&world)).await), Some(1000));
        world.clock.set_ms(START_MS + 60_000);
        let next = world.limiter.acquire(ask(&world)).await;
        let instants: Vec<_> = next.decision.limits.iter().map(|limit| limit.resets_at_ms).collect();
        assert_eq!(
            instants,
            [Some(START_MS + 18_000_000), Some(START_MS + 120_000)],
            "only the minute moved"
        );
    }
}

#[tokio::test]
async fn f14_a_burst_inside_the_window_moves_no_instant() {
    for engine in engines() {
        let mut world = World::new(engine, 800).await;
        world.limits = vec![Limit::session("session", 800, 18_000)];
        assert!(world.limiter.acquire(world.request(1)).await.is_allowed());
        // Seven of its eight shards do not exist yet.
        world.amend(0, json!({ "shard_count": { "N": "8" } })).await;
        let end_ms = START_MS + 18_000_000;
        world.clock.set_ms(START_MS + (3 * 60 + 43) * 60_000);
        let hosts: Vec<_> = (0..5).map(|_| world.host()).collect();
        let asked = hosts.iter().zip(1..).map(|(host, shard)| host.acquire(world.request_on(shard, 8, 1)));
        for answer in join_all(asked).await {
            assert!(answer.is_allowed(), "{answer:?}");
            assert_eq!(reported_reset_ms(&answer), Some(end_ms));
        }
        for minute in 224..300 {
            world.clock.set_ms(START_MS + minute * 60_000);
            let status = world.report().await.limits[0].status.clone();
            let reported_reset_ms = status.resets_at_ms.unwrap();
            assert_eq!(reported_reset_ms, end_ms, "minute {minute}");
            assert!(reported_reset_ms > world.now_ms());
        }
    }
}

#[tokio::test]
async fn f15_a_start_in_the_future_is_waited_out_without_long_waits_or_gifts() {
    for engine in engines() {
        let mut world = World::new(engine, 10).await;
        world.limits = vec![Limit::session("session", 10, 18_000)];
        let ahead_ms = START_MS + 9 * HOUR_MS;
        let mut item = world.live(0, 1, 0);
        item["b_session_rsa"] = json!({ "N": "18000" });
        for name in ["b_session_ws", "b_session_wa", "rf"] {
            item[name] = json!({ "N": ahead_ms.to_string() });
        }
        item["vu"] = json!({ "N": (ahead_ms + 5 * HOUR_MS).to_string() });
        world.put(item).await;
        // No reported wait is longer than one length, and nothing is granted in between.
        let mut admitted = 0;
        while world.now_ms() < ahead_ms + 5 * HOUR_MS {
            let answer = world.take_on(0, 1, 1).await;
            admitted += u64::from(answer.is_allowed());
            let reported_reset_ms = reported_reset_ms(&answer).unwrap();
            assert!(reported_reset_ms > world.now_ms() && reported_reset_ms <= world.now_ms() + 5 * HOUR_MS);
            world.clock.set_ms(world.now_ms() + HOUR_MS);
        }
        assert_eq!(admitted, 0, "the quota of the window that is stored was used up");
        let healed = world.take_on(0, 1, 10).await;
        assert!(healed.is_allowed(), "{healed:?}");
        assert_eq!(reported_reset_ms(&healed), Some(world.now_ms() + 5 * HOUR_MS));
    }
}

#[tokio::test]
async fn f16_a_rejected_request_takes_nothing_from_anything() {
    for engine in engines() {
        for count in [1, 2] {
            let mut world = World::new(engine.clone(), 10).await;
            world.put_live(count).await;
            world.limits.push(Limit::drip("rpm", 100, 100, 60));
            let ask = |shard, tokens| {
                let mut request = world.request_on(shard, count, tokens);
                request.consume.push(Amount::new("rpm", tokens));
                request
            };
            for shard in 0..count {
                assert!(world.limiter.acquire(ask(shard, 8 / u64::from(count))).await.is_allowed());
            }
            let before = world.items().await;
            assert!(!world.limiter.acquire(ask(0, 5)).await.is_allowed());
            let after = world.items().await;
            for (shard, item) in &before {
                for name in ["b_session_tk", "b_session_tc", "b_rpm_tk", "b_rpm_tc"] {
                    assert_eq!(number(item, name), number(&after[shard], name), "shard {shard}, {name}");
                }
            }
            assert!(world.limiter.acquire(ask(0, 1)).await.is_allowed());
        }
    }
}

#[tokio::test]
async fn f17_every_amount_has_its_typed_answer_and_poisons_nothing() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put_live(4).await;
        for (amount, answer) in [
            (0, "admitted"),
            (1, "admitted"),
            (25, "admitted"),
            (26, "admitted"),
            (100, "rejected"),
            (101, "never fits"),
            ((1 << 63) - 1, "never fits"),
            (u64::MAX, "never fits"),
        ] {
            let outcome = world.limiter.acquire(world.request(amount)).await.decision.outcome;
            let found = match &outcome {
                Outcome::Admitted(_) => "admitted",
                Outcome::Rejected { .. } => "rejected",
                Outcome::NeverFits { .. } => "never fits",
                _ => "other",
            };
            assert_eq!(found, answer, "{amount}: {outcome:?}");
        }
        assert_eq!(world.left().await, 100 - 1 - 25 - 26);
        world.clock.set_ms(START_MS + HOUR_MS);
        assert!(world.limiter.acquire(world.request(100)).await.is_allowed(), "the capacity itself fits");
    }
}

#[tokio::test]
async fn f18_an_item_that_is_missing_is_made_and_not_rejected() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put_live(2).await;
        world.delete(1).await;
        assert!(world.take_on(1, 2, 1).await.is_allowed());
        assert!(world.item(1).await.is_some());
    }
}

#[tokio::test]
async fn f20_stored_numbers_are_read_whole_or_refused_by_name() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        for (spelled, tokens) in
            [("1E3", 1), ("1000.0", 1), ("-0", 0), ("3804086584686624768", 3_804_086_584_686_624)]
        {
            world.put(world.live(0, 1, 5)).await;
            world
                .amend(0, json!({ "b_session_tk": { "N": spelled }, "b_session_cp": { "N": "4E18" } }))
                .await;
            let report = world.report().await;
            assert_eq!(report.limits[0].status.available, tokens, "{spelled}");
        }
        for (name, value) in [
            ("b_session_tk", json!({ "N": "0.5" })),
            ("b_session_tk", json!({ "S": "5000" })),
            ("b_session_ws", json!({ "N": "-1" })),
            ("b_session_cp", json!(null)),
            ("rf", json!(null)),
            ("rf", json!({ "N": "12345678901234567890123456789012345678" })),
        ] {
            world.put(world.live(0, 1, 5)).await;
            world.amend(0, json!({ name: value })).await;
            // A pass would be due, so the fast write cannot land before the item is read.
            world.amend(0, json!({ "vu": { "N": "0" } })).await;
            let before = world.items().await;
            let outcome = world.limiter.acquire(world.request(1)).await.decision.outcome;
            let Outcome::Failed(error) = outcome else { panic!("{name} {value}: {outcome:?}") };
            assert_eq!(error.code, ErrorCode::CorruptItem);
            assert!(error.message.contains(name), "{error}");
            assert_eq!(world.items().await, before, "nothing is written");
        }
    }
}

#[tokio::test]
async fn f23_absent_attributes_mean_what_was_meant() {
    for engine in engines() {
        // A length without a start: not begun, so it begins.
        let mut world = World::new(engine.clone(), 100).await;
        world.put(world.live(0, 1, 0)).await;
        world
            .amend(0, json!({ "b_session_ws": null, "b_session_wa": null, "b_session_gc": null, "vu": null }))
            .await;
        let answer = world.take_on(0, 1, 1).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert_eq!(reported_reset_ms(&answer), Some(START_MS + HOUR_MS));
        // A limit added to an item that exists.
        world.limits.push(Limit::session("day", 5, 86_400));
        let mut request = world.request(1);
        request.consume.push(Amount::new("day", 5));
        let answer = world.limiter.acquire(request).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert_eq!(answer.decision.limits[1].available, 0);
        assert_eq!(answer.decision.limits[0].available, 98);
    }
}

#[tokio::test]
async fn f24_a_shard_0_that_expired_comes_back_into_the_window_of_the_others() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        for shard in 1..4 {
            world.put(world.live(shard, 4, 20)).await;
        }
        world.clock.set_ms(START_MS + HOUR_MS / 2);
        // Through any shard the live window is reported, and no second one begins.
        let answer = world.limiter.acquire(world.request(1)).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert_eq!(reported_reset_ms(&answer), Some(START_MS + HOUR_MS));
        assert_eq!(answer.follow_ups, 0);
        let item = world.item(0).await.unwrap();
        assert_eq!(number(&item, "b_session_ws"), Some(START_MS.into()));
        assert_eq!(number(&item, "b_session_tk"), Some(24_000), "its own share, which nobody else held");
    }
}

#[tokio::test]
async fn f25_what_is_over_is_judged_by_the_clock_and_renewed() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put(world.live(0, 1, 0)).await;
        let past = (START_MS / 1000 - 1).to_string();
        world.amend(0, json!({ "ttl": { "N": past } })).await;
        // The ttl alone: the window is live, and used up.
        assert_eq!(rejected_for(&world.take_on(0, 1, 1).await), Some(HOUR_MS));
        // The ttl and the window.
        world.clock.set_ms(START_MS + HOUR_MS);
        assert!(world.take_on(0, 1, 1).await.is_allowed());
        let item = world.item(0).await.unwrap();
        let now_seconds = i128::from(world.now_ms() / 1000);
        assert_eq!(number(&item, "ttl"), Some(now_seconds + 7 * 3600));
    }
}

#[tokio::test]
async fn f26_no_window_is_told_as_full_and_without_an_instant() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        let previewed = world.limiter.preview(world.subject.clone(), world.limits.clone()).await;
        let PreviewOutcome::Report(report) = previewed.outcome else { panic!("{previewed:?}") };
        let status = &report.limits[0].status;
        assert_eq!((status.available, status.resets_at_ms), (100, None));
    }
}
